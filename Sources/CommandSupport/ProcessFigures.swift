import FoundationEssentials
import Glibc

/// What a process has cost so far.
package struct ProcessFigures {
    private let process: Int32

    /// - Parameter process: nil: this one.
    package init(_ process: Int32? = nil) { self.process = process ?? getpid() }

    /// Of all its threads, with those that have ended; 0 if there is no such process.
    package var cpuSeconds: Double {
        var clock = clockid_t()
        var time = timespec()
        guard clock_getcpuclockid(process, &clock) == 0, clock_gettime(clock, &time) == 0 else { return 0 }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Memory in RAM; 0 if there is no such process.
    package var residentBytes: Int { memory.resident }

    /// Memory in RAM without mapped files, such as the program; 0 if there is no such process.
    package var privateBytes: Int { memory.resident - memory.shared }

    private var memory: (resident: Int, shared: Int) {
        let text = (try? String(contentsOfFile: "/proc/\(process)/statm", encoding: .utf8)) ?? ""
        let fields = text.split(separator: " ")
        guard fields.count > 2, let resident = Int(fields[1]), let shared = Int(fields[2]) else { return (0, 0) }
        let page = sysconf(Int32(_SC_PAGESIZE))
        return (resident * page, shared * page)
    }
}
