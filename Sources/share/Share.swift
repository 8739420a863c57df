import ArgumentParser

@main
struct Share: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "share",
        abstract: "Show a screen to other people, from this machine, with nothing but a link.",
        discussion: """
            share host     publishes this screen and prints a link
            share join     watches one; the same link opens in any browser

            stdout is data, stderr is words. Exit codes: 0 fine, 64 wrong arguments, 65 bad link, 66 no display,
            68 host unreachable, 69 port unavailable, 70 internal failure, 73 cannot write a file, 74 connection lost,
            75 nobody answered, 76 the other side is not the link's, 77 refused.
            """,
        version: "0.1.0",
        subcommands: [HostCommand.self, JoinCommand.self, DemoCommand.self, DoctorCommand.self, PaintCommand.self])
}
