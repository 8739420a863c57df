import FoundationEssentials
import Glibc

/// The program share-relay, if it lies beside this one: `share relay` without the libraries of a host.
enum RelayExecutable {
    private static let name = "share-relay"

    /// Executes it in this process if the command is `relay`. Returns if it is another command, or there is no such
    /// program; `share` has the command as well.
    static func replaceThisProgram() {
        guard CommandLine.arguments.count > 1, CommandLine.arguments[1] == "relay" else { return }
        guard let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else { return }
        let path = String(own.dropLast(own.split(separator: "/").last?.count ?? 0)) + name
        // As "ps" shows it, and the usage.
        let words = ["share relay"] + CommandLine.arguments.dropFirst(2)
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
        defer { for argument in arguments { free(argument) } }
        arguments.append(nil)
        execv(path, arguments)
    }
}
