import CommandSupport
import Foundation
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

extension CommandError {
    /// A text that is no link, or one of another kind.
    init(_ error: LinkError) {
        let remedy =
            switch error {
            case .isOfService:
                "Install it with share extension install LINK, and broadcast to it with share host --preferred-extension ID."
            case .isOfBroadcast:
                "Watch it: share join LINK. A service's link is printed by share service or share relay."
            case .unknownVersion, .unknownFlags: ""
            default: "Copy it again, all of it."
            }
        self.init(sentence: error.description, remedy: remedy, status: .badLink)
    }
}
