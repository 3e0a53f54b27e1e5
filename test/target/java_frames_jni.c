/*
 * The native method of java/JavaFrames.java: calls back, then allocates.
 */
#include <jni.h>
#include <stdlib.h>

void *volatile java_frames_kept;

JNIEXPORT void JNICALL Java_JavaFrames_alloc(JNIEnv *env, jclass class, jint bytes);

JNIEXPORT void JNICALL Java_JavaFrames_alloc(JNIEnv *env, jclass class, jint bytes)
{
    jmethodID trace = (*env)->GetStaticMethodID(env, class, "trace", "(I)V");
    (*env)->CallStaticVoidMethod(env, class, trace, bytes);
    java_frames_kept = malloc((size_t)bytes);
}
