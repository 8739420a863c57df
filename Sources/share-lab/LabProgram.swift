import CommandSupport
import FoundationEssentials
import Glibc

/// Programs that a demo or a benchmark starts.
enum LabProgram {
    /// The path of a program beside this one.
    static func beside(_ name: String) throws -> String {
        let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let path = own.appendingPathComponent(name).path
        guard access(path, X_OK) == 0 else {
            throw CommandError(
                sentence: "the program \(name) is not beside this one",
                remedy: "In a checkout, Scripts/share demo and Scripts/share bench build what is needed first.",
                status: .failed)
        }
        return path
    }
}
