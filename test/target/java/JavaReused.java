import java.lang.invoke.MethodHandles;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import sun.misc.Unsafe;

/**
 * Defines hidden classes that differ only in the name of their method, calls each method, which allocates native memory
 * of a size of its own, and drops the class. The collector unloads it, and the JVM puts the next one at its addresses:
 * method007 allocates 100056 bytes. Argument: how many classes.
 */
public class JavaReused {
    static final int FIRST_BYTES = 100_000;
    static final String NAME = "method000";
    static Unsafe memory;
    static int number;

    static class Template {
        static void method000() { memory.allocateMemory(FIRST_BYTES + 8 * number); }
    }

    static byte[] renamed(byte[] template, String name) {
        String text = new String(template, StandardCharsets.ISO_8859_1);
        return text.replace(NAME, name).getBytes(StandardCharsets.ISO_8859_1);
    }

    static void round(byte[] template, int i) throws Exception {
        String name = String.format("method%03d", i);
        number = i;
        var method = MethodHandles.lookup().defineHiddenClass(renamed(template, name), true).lookupClass()
            .getDeclaredMethod(name);
        method.setAccessible(true);
        method.invoke(null);
    }

    public static void main(String[] arguments) throws Exception {
        Field field = Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        memory = (Unsafe) field.get(null);
        byte[] template = JavaReused.class.getResourceAsStream("JavaReused$Template.class").readAllBytes();
        for (int i = 0; i < Integer.parseInt(arguments[0]); i++) {
            round(template, i);
            System.gc();
        }
    }
}
