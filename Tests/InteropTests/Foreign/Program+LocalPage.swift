import BrowserControl
import Identifiers
import TestSupport

extension Program {
    /// `share join --browser` for a viewer named Ann. It finds no browser to open, so the test opens one.
    static func joiningInBrowser(_ link: Link, in folder: TemporaryFolder) throws -> Program {
        try Program(
            Program.share(), ["join", "--browser", "--json", "--name", "Ann"],
            environment: [
                "XDG_DATA_HOME": folder.path, "TMPDIR": folder.path, "SHARE_LINK": link.text, "PATH": folder.path,
            ])
    }

    /// The address that it prints.
    func printedLink() async throws -> String {
        let line = try await line(.standard, within: .seconds(20)) { $0.contains("\"event\":\"link\"") }
        guard let link = try JSON(parsing: line)["link"].string else { throw Failure("there is no link in \(line)") }
        return link
    }
}
