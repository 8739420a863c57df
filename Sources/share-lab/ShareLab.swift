import ArgumentParser
import CommandSupport
import ProcessMemory

/// Demonstrations and measurements of share on one machine, in a package of its own.
@main
struct ShareLab: ParsableCommand {
    static func main() {
        StandardStreams.prepare()
        ProcessMemory.limitFragmentation()
        ProcessMemory.forbidDumps()
        main(HelpScope.current.arguments)
    }

    static let configuration = CommandConfiguration(
        commandName: "share-lab",
        abstract: "Show what share does on this machine, and measure it.",
        discussion: "Starts share, which lies beside this program.",
        version: ProgramVersion.text,
        subcommands: [DemoCommand.self, BenchCommand.self, PaintCommand.self])
}
