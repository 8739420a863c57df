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
    package var residentBytes: Int {
        let text = (try? String(contentsOfFile: folder + "/statm", encoding: .utf8)) ?? ""
        let fields = text.split(separator: " ")
        return fields.count > 1 ? (Int(fields[1]) ?? 0) * sysconf(Int32(_SC_PAGESIZE)) : 0
    }
}
