import ArgumentParser
import CommandSupport

/// A relay's own addresses, and those by which others reach it. Its options stand among those of `RelayCommand`.
struct RelayAddressOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Address and TCP port to listen on; port 0 selects a free one.", valueName: "addr:port"))
    var listen = "0.0.0.0:0"

    @Option(
        help: ArgumentHelp(
            """
            Address and UDP port for the media of all peers, and for STUN unless --stun names a server; the address \
            of --listen (all addresses, if that is loopback) and a free port if omitted.
            """,
            valueName: "addr:port"))
    var media: String?

    @Option(
        help: ArgumentHelp(
            "Address at which peers reach the relay, if it is not this machine's own: that of a router which forwards both ports.",
            valueName: "addr"))
    var `public`: String?

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp(
            """
            Certificate chain and private key (PEM, as from Let's Encrypt) for HTTPS: browsers open viewers' links \
            without a warning, and programs check the name. Read again when the files change.
            """,
            valueName: "file"))
    var tls: [String] = []

    @Option(
        help: .rest(
            "Name or address in the links, if it is not the one of --listen or, with --tls, the certificate's first.",
            valueName: "host"))
    var linkHost: String?
}

/// The capacity of a relay.
struct RelayLimitOptions: ParsableArguments {
    @Option(help: .rest("Broadcasts at a time: 1 to 4096.", valueName: "count"))
    var maxBroadcasts = 4

    @Option(help: .rest("Viewers of one broadcast at a time: 1 to 10000.", valueName: "count"))
    var maxViewers = 64

    @Option(
        help: .rest(
            """
            Viewers of all broadcasts at a time: 1 to 20000; if omitted, what the HTTPS connections for --max-viewers \
            allow.
            """, valueName: "count"))
    var maxTotalViewers: Int?

    @Option(
        help: .rest(
            "Maximum bitrate to one viewer, and of a publisher, in kbit/s: 100 to 1000000.", valueName: "kbit"))
    var maxBitrate = 20_000

    @Option(
        help: .rest(
            "Threads that send to viewers at a time: 1 to 64; one for each core, and at most 8, if omitted.",
            valueName: "count")
    )
    var threads: Int?

    func check() throws {
        guard (1...4_096).contains(maxBroadcasts) else { throw ValidationError("--max-broadcasts is 1 to 4096.") }
        guard (1...10_000).contains(maxViewers) else { throw ValidationError("--max-viewers is 1 to 10000.") }
        if let maxTotalViewers, !(1...20_000).contains(maxTotalViewers) {
            throw ValidationError("--max-total-viewers is 1 to 20000.")
        }
        if let threads, !(1...64).contains(threads) { throw ValidationError("--threads is 1 to 64.") }
        guard (100...1_000_000).contains(maxBitrate) else {
            throw ValidationError("--max-bitrate is 100 to 1000000 kbit/s.")
        }
    }
}

/// The directory and the cluster of a relay, by which others find its broadcasts.
struct RelayClusterOptions: ParsableArguments {
    @Flag(help: .rest("List no broadcasts, also not those whose hosts want that."))
    var noDirectory = false

    @Option(help: .rest("Where this relay is, for the directory, such as eu-west.", valueName: "text"))
    var region: String?

    @Option(
        help: .rest(
            """
            NATS servers over which this relay and others find each other's broadcasts: nats://HOST:PORT or tls://..., \
            separated by commas.
            """,
            valueName: "urls"))
    var cluster: String?

    @Option(
        help: .rest(
            "Name of this relay in the cluster, another one for each: letters a to z, digits and '-'. Random if omitted.",
            valueName: "name"))
    var node: String?

    @Option(
        parsing: .upToNextOption,
        help: .rest(
            "The NATS servers' authority (PEM), and a certificate chain and key of this relay if they want one.",
            valueName: "file"))
    var clusterTls: [String] = []
}
