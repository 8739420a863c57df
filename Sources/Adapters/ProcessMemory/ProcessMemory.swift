internal import CMalloc

/// Settings of this process's memory (glibc's `mallopt`, Linux's `prctl`).
public enum ProcessMemory {
    /// Limits fragmentation: buffers from 128 KiB up are mappings that go back to the system when they are freed, and
    /// there are few arenas. Without this a host grew by 70 KB with each viewer that had joined and left. Call it
    /// before other threads start.
    /// - Parameter arenas: heaps that the threads share. A third one for a relay keeps buffers of connections, which
    ///   are used in part, from lying where a DTLS handshake was: 90 KB a viewer instead of 108.
    public static func limitFragmentation(arenas: Int32 = 2) {
        mallopt(M_MMAP_THRESHOLD, 128 * 1_024)
        mallopt(M_ARENA_MAX, arenas)
    }

    /// Unmaps the code and constants of the program and its libraries, which the next use maps again from the page
    /// cache. A call after the start takes what only the start has used out of the resident memory.
    public static func releaseProgramPages() { cmalloc_release_program_pages() }

    /// Keeps other processes of the same user from reading the memory, which holds keys, and prevents core dumps
    /// (PR_SET_DUMPABLE). ptrace and /proc/PID/mem are then for root only; /proc/self stays readable where it is needed
    /// here.
    public static func forbidDumps() { _ = cmalloc_forbid_dumps() }
}
