internal import CMalloc

/// How this process keeps its memory (glibc's mallopt).
public enum ProcessMemory {
    /// Large buffers go back to the system when they are freed, and few threads have a heap of their own. Without this a host grew by
    /// 70 KB with each viewer that had come and gone, all of it holes. Call it before other threads start.
    public static func keepSmall() {
        mallopt(M_MMAP_THRESHOLD, 128 * 1_024)
        mallopt(M_ARENA_MAX, 2)
    }
}
