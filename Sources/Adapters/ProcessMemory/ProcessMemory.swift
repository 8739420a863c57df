internal import CMalloc

/// How this process keeps its memory (glibc's mallopt, prctl).
public enum ProcessMemory {
    /// Large buffers go back to the system when they are freed, and few threads have a heap of their own. Without this a host grew by
    /// 70 KB with each viewer that had come and gone, all of it holes. Call it before other threads start.
    public static func keepSmall() {
        mallopt(M_MMAP_THRESHOLD, 128 * 1_024)
        mallopt(M_ARENA_MAX, 2)
    }

    /// Other processes of the same user cannot read the memory, keys among it, nor does a crash leave it in a file: no core dump, no
    /// ptrace, /proc/PID/mem and the like are root's (PR_SET_DUMPABLE). /proc/self stays readable where it is needed here.
    public static func keepPrivate() { _ = cmalloc_forbid_dumps() }
}
