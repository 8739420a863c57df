import CommandSupport
import FoundationEssentials
import Identifiers

/// The link on the command line of `share join` and `share record`.
enum LinkArgument {
    /// - Parameters:
    ///   - argument: the link, `-` for stdin, or nil for SHARE_LINK.
    ///   - command: the command's name, for the message.
    static func read(_ argument: String?, command: String) throws(CommandError) -> Link {
        let text: String
        if let argument, argument != "-" {
            text = argument
        } else if argument == "-" {
            text = readLine() ?? ""
        } else if let fromEnvironment = ProcessInfo.processInfo.environment["SHARE_LINK"] {
            text = fromEnvironment
        } else {
            throw CommandError(
                sentence: "which link?",
                remedy: "share \(command) LINK, or set SHARE_LINK, or share \(command) - and the link on stdin.",
                status: .usage)
        }
        do throws(LinkError) {
            return try Link(parsing: text)
        } catch {
            throw CommandError(error)
        }
    }
}
