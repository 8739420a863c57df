import Admission
package import ArgumentParser
import CommandSupport
import HTTP
import Host
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import NATSMessaging
import PeerConnection
import ProcessMemory
import Relay
import Service
import Signaling

package struct RelayCommand: ParsableCommand {
    package init() {}

    package static let configuration = CommandConfiguration(
        commandName: commandName, abstract: "Take broadcasts in, and serve each to viewers under a link of its own.",
        usage: HelpScope.usage("\(commandName == "relay" ? "share relay" : commandName) [<options>]"),
        discussion: """
            The first line on stdout is the relay's link for publishers: 'share host --relay LINK'. \
            Each broadcast gets a link for viewers, which its publisher sees, too. Nothing is \
            decoded. A host chooses the way: over the relay, which can watch what passes \
            through it (--route relay, and auto with many viewers), or direct.
            """ + HelpScope.hint("limits, metrics, the directory, clusters, STUN and TURN"),
        version: ProgramVersion.text)

    /// The name in the usage: the verb, or that of the program which is this command alone.
    private static var commandName: String {
        let name = CommandLine.arguments.first?.split(separator: "/").last.map(String.init)
        return name.flatMap { ["share-relay", "share relay"].contains($0) ? $0 : nil } ?? "relay"
    }

    @Option(
        help: ArgumentHelp(
            "File with options, as lines like max-viewers = 500; those of the command line win.", valueName: "file"))
    var config: String?

    @OptionGroup var address: RelayAddressOptions

    @Option(help: ArgumentHelp("Name that publishers see.", valueName: "text"))
    var name = "Relay"

    @Option(
        help: "Whose broadcasts to take: those that you accept (ask), of known hosts, or of all with this link (any).")
    var accept: AcceptChoice = .ask

    @Option(
        help: ArgumentHelp(
            "File with the token with which WHIP tools publish without a question: 16 characters or more.",
            valueName: "file"))
    var publishToken: String?

    @OptionGroup var limits: RelayLimitOptions

    @Option(
        help: .rest(
            "Where to serve /metrics (for Prometheus), /health and /ready, by plain HTTP: an address that only your monitoring reaches.",
            valueName: "addr:port"))
    var metrics: String?

    @OptionGroup var cluster: RelayClusterOptions

    @Option(
        help: .rest(
            "On SIGTERM, take nobody in any more, and end when all broadcasts have ended, or after this time: 90s, 10m, 2h.",
            valueName: "time"))
    var drain: Timespan?

    @Option(
        help: .rest(
            "File with the secret of your TURN servers (coturn's static-auth-secret): each peer gets credentials of its own, which expire. The URLs of --turn need no USER then.",
            valueName: "file"))
    var turnSecret: String?

    @OptionGroup(title: "Network options", visibility: HelpScope.rest) var serverOptions: ServerOptions

    @Option(name: .customLong("for"), help: ArgumentHelp("End after this time: 90, 90s, 10m, 2h.", valueName: "time"))
    var duration: Timespan?

    @Flag(help: .rest("Print one JSON event a line on stdout."))
    var json = false

    @Flag(
        help: .rest(
            "Leave the secrets of viewers' links out of what is printed, so that nobody can watch by a log.",
            discussion: "In systemd's journal they are left out without it."))
    var hideLinks = false

    static let id = "io.sharekit.relay"

    package func validate() throws {
        // With a file, what it makes of the options is checked.
        guard config == nil else { return }
        _ = try mediaPort(ListenAddress(address.listen))
        if let metrics { _ = try ListenAddress(metrics, option: "--metrics") }
        guard address.tls.isEmpty || address.tls.count == 2 else {
            throw ValidationError("--tls takes two files: the certificate's chain, and its key.")
        }
        if let linkHost = address.linkHost, Link.host(linkHost) == nil {
            throw ValidationError("--link-host is a name or an address, as relay.example, not '\(linkHost)'.")
        }
        guard !serverOptions.relayOnly else {
            throw ValidationError("--relay-only is for hosts and viewers: a relay needs an address of its own.")
        }
        if let node = cluster.node, !ClusterNode.isName(node) {
            throw ValidationError("--node is 1 to 32 of a to z, 0 to 9 and '-', not '\(node)'.")
        }
        guard [0, 1, 3].contains(cluster.clusterTls.count) else {
            throw ValidationError("--cluster-tls takes one file, or three: authority, chain and key.")
        }
        try limits.check()
    }

    package func run() throws { try complaining { try configured().relay() } }

    /// The command with the options of `--config`.
    private func configured() throws -> RelayCommand {
        guard let config else { return self }
        var arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.first == "relay" { arguments.removeFirst() }
        while let index = arguments.firstIndex(where: { $0 == "--config" || $0.hasPrefix("--config=") }) {
            let count = arguments[index] == "--config" ? 2 : 1
            arguments.removeSubrange(index..<min(index + count, arguments.count))
        }
        return try ConfigurationFile.configure(RelayCommand.self, from: config, arguments)
    }
}
