import Foundation

/// What a process has cost so far, by /proc.
package struct ProcessFigures {
    private let folder: String

    /// - Parameter process: its number.
    package init(_ process: String = "self") { folder = "/proc/" + process }

    /// 0 if there is no such process.
    package var cpuSeconds: Double {
        guard let text = try? String(contentsOfFile: folder + "/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return 0 }
        let fields = text[text.index(after: end)...].split(separator: " ")
        guard fields.count > 13, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Memory in RAM; 0 if there is no such process.
    package var residentBytes: Int { memory.resident }

    /// Memory in RAM without mapped files, such as the program; 0 if there is no such process.
    package var privateBytes: Int { memory.resident - memory.shared }

    private var memory: (resident: Int, shared: Int) {
        let text = (try? String(contentsOfFile: folder + "/statm", encoding: .utf8)) ?? ""
        let fields = text.split(separator: " ")
        guard fields.count > 2, let resident = Int(fields[1]), let shared = Int(fields[2]) else { return (0, 0) }
        let page = sysconf(Int32(_SC_PAGESIZE))
        return (resident * page, shared * page)
    }
}
