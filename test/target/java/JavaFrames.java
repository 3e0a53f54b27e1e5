import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;

/**
 * Calls a native method from many kinds of Java code, again and again, so that the JVM interprets the code first and
 * compiles it later. Every n-th call allocates native memory of a size of its own; for these calls, the program prints
 * the size and the stack that Java itself sees at that moment:
 *
 *     200003 JavaFrames.alloc:0 JavaFrames$Left.work:61 ...
 *
 * Arguments: the path of the native library, the number of such calls, and how many calls are made for each. With a
 * fourth argument, the program compiles its code first, prints "ready", and waits for a line.
 */
public class JavaFrames {
    static final int FIRST_BYTES = 200_000;
    static StringBuilder said = new StringBuilder();
    static int calls, every, sizes, wanted;

    /** Allocates `bytes` that are never freed, after a call of trace(bytes). */
    static native void alloc(int bytes);

    /** Called by alloc: notes what is on the stack, without itself. */
    static void trace(int bytes) {
        StackTraceElement[] frames = new Throwable().getStackTrace();
        said.append(bytes);
        for (int i = 1; i < frames.length; i++) {
            StackTraceElement f = frames[i];
            said.append(' ').append(f.getClassName()).append('.').append(f.getMethodName()).append(':')
                .append(Math.max(f.getLineNumber(), 0));
        }
        said.append('\n');
    }

    static int at(int i) {
        if (++calls % every == 0 && sizes < wanted) {
            alloc(FIRST_BYTES + sizes++);
        }
        return i + 1;
    }

    /* --- kinds of code --- */

    interface Shape {
        int work(int i);
    }

    static class Left implements Shape {
        public int work(int i) { return at(i); }
    }

    static class Right extends Left {
        @Override public int work(int i) { return super.work(i) + 1; }
    }

    static class Third implements Shape {
        final IntUnaryOperator inner = JavaFrames::at;
        public int work(int i) { return inner.applyAsInt(i); }
    }

    static int recursive(int depth, int i) {
        return depth == 0 ? at(i) : recursive(depth - 1, i) + 1;
    }

    static synchronized int locked(int i) {
        int sum = 0;
        for (int k = 0; k < 3; k++) {
            sum += at(i + k);
        }
        return sum;
    }

    static int thrown(int i) {
        try {
            if (i % 2 == 0) {
                throw new IllegalStateException();
            }
            return at(i);
        } catch (IllegalStateException e) {
            return at(i);
        } finally {
            at(i);
        }
    }

    static int inlined1(int i) { return inlined2(i) + 1; }
    static int inlined2(int i) { return inlined3(i) + 1; }
    static int inlined3(int i) { return at(i); }

    /** A loop that is compiled while it runs. */
    static int loop(int i) {
        int sum = 0;
        for (int k = 0; k < 200; k++) {
            sum ^= k * i;
            if (k % 50 == 0) {
                sum += at(k);
            }
        }
        return sum;
    }

    static int manyArguments(int a, long b, double c, Object d, int e, int f, long g, int h, double i, long j) {
        return at(a) + (int) b + (int) c + e + f + (int) g + h + (int) i + (int) j + d.hashCode();
    }

    static final MethodHandle HANDLE;
    static final java.lang.reflect.Method REFLECTED;
    static {
        try {
            HANDLE = MethodHandles.lookup().findStatic(JavaFrames.class, "at",
                                                       MethodType.methodType(int.class, int.class));
            REFLECTED = JavaFrames.class.getDeclaredMethod("at", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    static int handle(int i) throws Throwable { return (int) HANDLE.invokeExact(i); }
    static int reflected(int i) throws Throwable { return (Integer) REFLECTED.invoke(null, i); }

    static int round(int i, List<Shape> shapes) throws Throwable {
        int sum = 0;
        for (Shape shape : shapes) {
            sum += shape.work(i);
        }
        sum += recursive(i % 40, i) + locked(i) + thrown(i) + inlined1(i) + loop(i) + handle(i) + reflected(i);
        sum += manyArguments(i, 2, 3, "x", 5, 6, 7, 8, 9, 10);
        sum += IntStream.range(0, 3).map(k -> at(k + i)).sum();
        return sum;
    }

    public static void main(String[] args) throws Throwable {
        System.load(args[0]);
        wanted = Integer.parseInt(args[1]);
        every = Integer.parseInt(args[2]);
        List<Shape> shapes = new ArrayList<>(List.of(new Left(), new Right()));
        long sum = 0;
        if (args.length > 3) {
            every = Integer.MAX_VALUE;
            for (int i = 0; i < 3000; i++) {
                sum += round(i, shapes);
            }
            every = Integer.parseInt(args[2]);
            System.out.println("ready");
            System.in.read();
        }
        for (int i = 0; sizes < wanted; i++) {
            if (sizes == wanted / 2 && shapes.size() == 2) {
                shapes.add(new Third()); /* what was compiled for two classes is deoptimized */
            }
            sum += round(i, shapes);
        }
        System.out.print(said);
        System.err.println(sum);
    }
}
