import Admission
import Foundation
import Host
import Identifiers
import Identity
import ImageFile
import LinuxRuntime
import Relay
import Service
import Signaling
import TestSupport
import Testing

/// `share service` and a host that pairs with it, as two users run them.
@Suite(.serialized, .timeLimit(.minutes(4)))
struct ServiceVerbTests {
    private struct Service {
        let process: ShareProcess
        let folder: TemporaryFolder
        let link: String

        init(_ arguments: [String] = [], input: String? = nil) throws {
            folder = try TemporaryFolder()
            process = try ShareProcess(
                [
                    "service", "--id", "com.example.conference", "--name", "Conference", "--headless", "--listen",
                    "127.0.0.1:0", "--json",
                ] + (arguments.contains("--accept") ? [] : ["--accept", "any"]) + arguments, in: folder, input: input)
            link = try #require(process.event("link")?["link"] as? String, "\(process.errorText)")
        }
    }

    private func run(_ arguments: [String], in folder: TemporaryFolder) throws -> (
        code: Int32?, out: [String], words: String
    ) {
        let process = try ShareProcess(arguments, in: folder)
        let code = process.exitCode()
        return (code, process.lines, process.errorText)
    }

    private static let host = [
        "host", "--preferred-extension", "--source", "test", "--audio", "none", "--name", "Budget",
    ]

    @Test func aHostIsAskedInTheTerminalAndPublishesToTheServiceAlone() throws {
        let folder = try TemporaryFolder()
        let snapshot = folder.file("seen.png")
        let service = try Service(["--field", "title:Title", "--snapshot", snapshot])
        let terminal = try Terminal(Self.host)
        #expect(terminal.waitUntil { $0.contains("1  io.sharekit.service") })

        let install = try run(["extension", "install", service.link], in: terminal.hostFolder)
        #expect(install.code == 0, "\(install.words)")
        #expect(try run(["pair", "com.example.conference"], in: terminal.hostFolder).code == 0)
        let listed = try run(["services"], in: terminal.hostFolder)
        #expect(listed.out.count == 3 && listed.out.first?.hasPrefix("* com.example.conference  127.0.0.1:") == true)

        let host = try Terminal(
            Self.host + ["--for", "30"], environment: ["XDG_DATA_HOME": terminal.hostFolder.path])
        #expect(
            host.waitUntil { $0.contains("\"Budget\" wants to broadcast to \"Conference\"") && $0.hasSuffix("[n]o:") })
        // Nobody has been told anything before the user has answered.
        #expect(service.process.event("pairing", seconds: 0.1) == nil)
        try host.type("y", "Enter")
        #expect(host.waitUntil { $0.hasSuffix("Title:") })
        try host.type("Accounts", "Enter")
        let paired = service.process.event("paired")
        #expect(paired?["application"] as? String == "Budget")
        #expect((paired?["setup"] as? [String: String]) == ["title": "Accounts"])
        #expect(service.process.event("first-picture") != nil)
        #expect(host.waitUntil { $0.contains("\"Conference\" (service, 127.0.0.1) receives the broadcast") })
        // There is no link, and so no viewer.
        #expect(!host.screen().contains("give the link above"))
        try host.type("C-c")
        #expect(service.process.event("broadcast-closed")?["code"] as? String == "hostEnded")
        #expect(FileManager.default.fileExists(atPath: snapshot))
        service.process.interrupt()
        #expect(service.process.exitCode() == 0)
    }

    /// It is told of the broadcast, and gets this user's variables of a list. Secrets of the service are not among
    /// them.
    @Test func theCommandForABroadcastGetsNoSecret() throws {
        let folder = try TemporaryFolder()
        let file = folder.file("variables")
        let secrets = [
            "SHARE_TOKEN": "a-token-of-twenty-chars", "SHARE_TURN_CREDENTIAL": "a-credential", "SHARE_LINK": "a-link",
            "SHARE_FIELD_TOKEN": "a-field", "SECRET_KEY": "a-key", "NOTIFY_SOCKET": "a-socket",
        ]
        let service = try ShareProcess(
            [
                "service", "--id", "com.example.conference", "--name", "Conference", "--headless", "--accept", "any",
                "--listen", "127.0.0.1:0", "--json", "--on-broadcast", "env > \(file).part; mv \(file).part \(file)",
            ], environment: secrets.merging(["LC_TIME": "C"]) { $1 })
        let link = try #require(service.event("link")?["link"] as? String, "\(service.errorText)")
        let user = try TemporaryFolder()
        #expect(try run(["extension", "install", link], in: user).code == 0)
        let host = try Terminal(
            [
                "host", "--preferred-extension", "com.example.conference", "--source", "test", "--audio", "none",
                "--name", "Budget",
            ], environment: ["XDG_DATA_HOME": user.path])
        #expect(host.waitUntil { $0.hasSuffix("[n]o:") })
        try host.type("y", "Enter")
        #expect(folder.waitForFile("variables", seconds: 30), "\(service.errorText)")
        let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
        let names = Set(lines.compactMap { $0.split(separator: "=").first.map(String.init) })
        #expect(names.isSuperset(of: ["PATH", "HOME", "LC_TIME"]), "\(names)")
        let told: Set = ["SHARE_APPLICATION", "SHARE_APPLICATION_ID", "SHARE_ADDRESS", "SHARE_SETUP"]
        #expect(Set(names.filter { $0.hasPrefix("SHARE_") }) == told)
        // The shell has three of its own.
        #expect(
            names.filter { !ProgramEnvironment.passes($0) && !$0.hasPrefix("SHARE_") }
                .isSubset(of: ["SHLVL", "_", "OLDPWD"]), "\(names)")
        #expect(lines.contains("SHARE_APPLICATION=Budget") && lines.contains("SHARE_SETUP={}"))
        for (name, value) in secrets { #expect(!lines.contains { $0.contains(value) }, "\(name)") }
        try host.type("C-c")
    }

    /// It is asked about, as any service, and passes on what it cannot open. Without that, it is said that it can
    /// watch.
    @Test(arguments: [false, true]) func aRelayAsServiceCannotWatchUnlessItMay(mayWatch: Bool) async throws {
        let description = try ServiceDescription(
            id: try #require(ServiceID("com.example.relay")), name: "Relay", fields: [])
        let links = Monitor<[String]>([])
        let relay = RelaySession(
            configuration: .init(
                service: .init(
                    listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", service: .init(description))),
            identity: try .ephemeral(), decide: { _ in .accepted }, admit: { _ in .accepted },
            emit: { event in if case .live(_, _, let link) = event { links.change { $0.append(link.text) } } })
        let place = try await relay.start().text
        try watch(over: place, links, mayWatch: mayWatch)
        await relay.stop()
    }

    private func watch(over place: String, _ links: Monitor<[String]>, mayWatch: Bool) throws {
        let user = try TemporaryFolder()
        #expect(try run(["extension", "install", place], in: user).code == 0)
        let host = try Terminal(
            [
                "host", "--preferred-extension", "com.example.relay", "--source", "test", "--audio", "none", "--name",
                "Budget",
            ]
                + ["--accept", "any"] + (mayWatch ? ["--relay-may-watch"] : []),
            environment: ["XDG_DATA_HOME": user.path])
        #expect(host.waitUntil { $0.hasSuffix("[n]o:") }, "\(host.screen())")
        let sentence =
            mayWatch ? "can watch it, and sends it to viewers" : "encrypted for them, so the relay cannot watch"
        #expect(host.screen().replacing("\n", with: " ").contains(sentence), "\(host.screen())")
        try host.type("y", "Enter")
        let link = try #require(host.waitFor { $0.firstLink }, "\(host.screen())")
        let viewer = try ShareProcess(["join", "--headless", "--json"], environment: ["SHARE_LINK": link])
        #expect(viewer.event("first-picture") != nil, "\(viewer.errorText)")
        #expect(links.with { $0.contains(link) } == mayWatch)
        try host.type("C-c")
        #expect(viewer.event("ended")?["code"] as? String == "hostEnded", "\(viewer.errorText)")
    }

    @Test func aUserWhoDeclinesPublishesNothing() throws {
        let service = try Service()
        let folder = try TemporaryFolder()
        #expect(try run(["extension", "install", service.link], in: folder).code == 0)
        let host = try Terminal(
            ["host", "--preferred-extension", "com.example.conference", "--source", "test", "--audio", "none"],
            environment: ["XDG_DATA_HOME": folder.path])
        #expect(host.waitUntil { $0.hasSuffix("[n]o:") })
        try host.type("n", "Enter")
        #expect(host.waitUntil { $0.contains("you declined to broadcast to this service") })
        #expect(service.process.event("pairing", seconds: 0.1) == nil)
    }

    @Test func whereNobodyCanBeAskedNothingIsBroadcast() throws {
        let service = try Service()
        let folder = try TemporaryFolder()
        #expect(try run(["extension", "install", service.link], in: folder).code == 0)
        let host = try run(["host", "--preferred-extension", "com.example.conference", "--source", "test"], in: folder)
        #expect(host.code == 64 && host.words.contains("no terminal and no display"), "\(host.words)")
    }

    @Test func withoutAPreferredServiceTheUserChoosesOneAndIsAskedAsAlways() throws {
        let service = try Service(["--field", "title:Title"])
        let folder = try TemporaryFolder()
        #expect(try run(["extension", "install", service.link], in: folder).code == 0)
        let other = service.link.replacing("com.example.conference", with: "com.example.another")
        #expect(try run(["extension", "install", other], in: folder).code == 67)
        let tooLong = String(repeating: "x", count: 600)
        let host = try Terminal(
            [
                "host", "--preferred-extension", "--source", "test", "--audio", "none", "--name", "Budget", "--field",
                "title=\(tooLong)",
            ], environment: ["XDG_DATA_HOME": folder.path])
        #expect(host.waitUntil { $0.contains("1  com.example.conference") && $0.hasSuffix("or [n]one:") })
        try host.type("7", "Enter")
        #expect(host.waitUntil { $0.contains("[n]one: 7") && $0.hasSuffix("or [n]one:") })
        try host.type("1", "Enter")
        #expect(host.waitUntil { $0.contains("\"Budget\" wants to broadcast") && $0.hasSuffix("[n]o:") })
        try host.type("y", "Enter")
        // A value that the service refuses is asked for again.
        #expect(host.waitUntil { $0.contains("Title (title) is longer than 512 bytes.") && $0.hasSuffix("Title:") })
        try host.type("Accounts", "Enter")
        #expect((service.process.event("paired")?["setup"] as? [String: String]) == ["title": "Accounts"])
        #expect(host.waitUntil { $0.contains("\"Conference\" (service, 127.0.0.1) receives the broadcast") })
    }

    @Test func whoChoosesNoServiceBroadcastsNothing() throws {
        let service = try Service()
        let folder = try TemporaryFolder()
        #expect(try run(["extension", "install", service.link], in: folder).code == 0)
        let host = try Terminal(
            ["host", "--preferred-extension", "--source", "test", "--audio", "none"],
            environment: ["XDG_DATA_HOME": folder.path])
        #expect(host.waitUntil { $0.hasSuffix("or [n]one:") })
        try host.type("n", "Enter")
        #expect(host.waitUntil { $0.contains("you chose no service") })
        #expect(service.process.event("pairing", seconds: 0.1) == nil)
    }

    /// Without a terminal, in windows that have the terms, and the fields that the command line does not answer.
    @Test func withoutATerminalTheUserChoosesAndIsAskedInWindows() throws {
        let desktop = try Desktop()
        let folder = try TemporaryFolder()
        let terms = folder.file("terms")
        try (1...200).map { "Paragraph \($0) of the terms." }.joined(separator: "\n").write(
            toFile: terms, atomically: true, encoding: .utf8)
        let service = try Service(["--field", "title:<b>Title</b>", "--terms", terms])
        #expect(try run(["extension", "install", service.link], in: folder).code == 0)
        let environment = ["DISPLAY": desktop.display.name, "SDL_VIDEODRIVER": "x11"]
        let arguments = ["host", "--preferred-extension", "--source", "test", "--audio", "none", "--json"]
        // The service that is preferred; the extensions that ship would be asked about, too.
        #expect(try run(["pair", "com.example.conference"], in: folder).code == 0)
        let host = try ShareProcess(
            arguments + ["--field", "title=Accounts"], in: folder, environment: environment)
        _ = try #require(host.event("pairing"))
        let height = try desktop.acceptInShare(higherThan: 150)
        #expect((service.process.event("paired")?["setup"] as? [String: String]) == ["title": "Accounts"])
        host.interrupt()
        #expect(host.exitCode() == 0, "\(host.errorText)")

        // A field is in the window of the question, which stays until it has a value.
        let asked = try ShareProcess(arguments, in: folder, environment: environment)
        _ = try #require(asked.event("pairing"))
        try desktop.acceptInShare(higherThan: 150, pressing: "h")
        let paired = service.process.event("paired") {
            ($0["setup"] as? [String: String])?["title"]?.allSatisfy { $0 == "h" } == true
        }
        #expect(paired != nil)
        asked.interrupt()
        #expect(asked.exitCode() == 0, "\(asked.errorText)")
        // The terms are scrolled.
        #expect(height < 720)

        let refused = try ShareProcess(arguments, in: folder, environment: environment)
        #expect(try desktop.waitForShare(toAsk: true))
        try desktop.refuseInShare()
        #expect(refused.exitCode() == 78 && refused.event("pairing-refused")?["code"] as? String == "declined")

        // Without a preferred service the user chooses.
        #expect(try run(["pair", "--forget"], in: folder).code == 0)
        let choosing = try ShareProcess(arguments, in: folder, environment: environment)
        #expect(try desktop.waitForShare(toAsk: true))
        try desktop.refuseInShare()
        #expect(choosing.exitCode() == 78 && choosing.errorText.contains("you chose no service"))
    }

    @Test func anIconIsKeptWithTheService() throws {
        let folder = try TemporaryFolder()
        // A PNG of one grey pixel.
        let image = try #require(
            Data(
                base64Encoded:
                    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="))
        try image.write(to: URL(fileURLWithPath: folder.file("icon.png")))
        let service = try Service(["--icon", folder.file("icon.png")])
        #expect(try run(["extension", "install", service.link], in: folder).code == 0)
        let manifest = try Data(
            contentsOf: URL(fileURLWithPath: folder.file("share/extensions/com.example.conference.json")))
        let values = try #require(JSONSerialization.jsonObject(with: manifest) as? [String: Any])
        #expect(values["iconData"] as? String == image.base64EncodedString())

        for (name, bytes) in [("text.png", Data("no image".utf8)), ("large.png", image + Data(count: 20_000))] {
            try bytes.write(to: URL(fileURLWithPath: folder.file(name)))
            let refused = try run(
                ["service", "--id", "com.example.a", "--accept", "any", "--headless", "--icon", folder.file(name)],
                in: folder)
            #expect(refused.code == 64 && refused.words.contains("the icon"), "\(refused.words)")
        }
    }

    /// Nobody says goodbye, and the media's silence lasts 30 s.
    @Test func aServiceAndItsHostRecordTheBroadcast() throws {
        let recordings = try TemporaryFolder()
        let service = try Service(["--record", recordings.path])
        let folder = try TemporaryFolder()
        #expect(try run(["extension", "install", service.link], in: folder).code == 0)
        let own = recordings.file("own.webm")
        let host = try Terminal(
            [
                "host", "--preferred-extension", "com.example.conference", "--source", "test", "--name", "Bud/get",
                "--for", "3", "--record", own,
            ], environment: ["XDG_DATA_HOME": folder.path])
        #expect(host.waitUntil { $0.hasSuffix("[n]o:") })
        try host.type("y", "Enter")
        let file = try #require(service.process.event("recorded")?["file"] as? String)
        #expect(file.hasPrefix(recordings.path + "/Bud-get "))
        #expect(host.waitUntil { $0.contains("the time is over") })
        for file in [file, own] {
            let media = try MediaProbe(file)
            #expect(media.streams == ["vp8", "opus"] && media.duration > 2, "\(file)")
            #expect(try media.decodingErrors() == "")
        }
        service.process.interrupt()
        #expect(service.process.exitCode() == 0)
        let nowhere = try run(
            ["service", "--id", "com.example.a", "--accept", "any", "--headless", "--record", folder.file("none")],
            in: folder)
        #expect(nowhere.code == 73 && nowhere.words.contains("no file can be created"), "\(nowhere.words)")
    }

    @Test func aServiceThatIsKilledIsMissedWithinSeconds() throws {
        let service = try Service()
        let folder = try TemporaryFolder()
        #expect(try run(["extension", "install", service.link], in: folder).code == 0)
        let host = try Terminal(
            Self.host + ["--for", "30"] + ["--json"], environment: ["XDG_DATA_HOME": folder.path])
        #expect(host.waitUntil { $0.contains("1  com.example.conference") })
        try host.type("1", "Enter")
        #expect(host.waitUntil { $0.hasSuffix("[y]es, [n]o:") })
        try host.type("y", "Enter")
        #expect(service.process.event("first-picture") != nil)
        let begin = ContinuousClock.now
        service.process.kill()
        #expect(host.waitUntil { $0.contains("Conference has gone: nothing listens at its port any more") })
        // The media's silence alone would take 30 s.
        #expect(ContinuousClock.now - begin < .seconds(20))
    }

    @Test func aServiceThatRefusesIsHeardWithItsReason() throws {
        let service = try Service(["--accept", "known"])
        let folder = try TemporaryFolder()
        #expect(try run(["extension", "install", service.link], in: folder).code == 0)
        let host = try Terminal(
            ["host", "--preferred-extension", "com.example.conference", "--source", "test", "--audio", "none"],
            environment: ["XDG_DATA_HOME": folder.path])
        #expect(host.waitUntil { $0.hasSuffix("[n]o:") })
        try host.type("y", "Enter")
        #expect(host.waitUntil { $0.contains("the service takes broadcasts of known hosts only") })
        #expect(service.process.event("pairing-refused") != nil)
    }

    @Test func anUnknownServiceAChangedCertificateAndAServiceThatHasGoneAreToldApart() throws {
        let folder = try TemporaryFolder()
        let unknown = try run(["host", "--preferred-extension", "com.example.nobody", "--source", "test"], in: folder)
        #expect(unknown.code == 67, "\(unknown.words)")

        let service = try Service()
        #expect(try run(["extension", "install", service.link], in: folder).code == 0)
        let other = try Service()
        let changed = try run(["extension", "install", other.link], in: folder)
        #expect(changed.code == 76 && changed.words.contains("another certificate"), "\(changed.words)")

        service.process.interrupt()
        #expect(service.process.exitCode() == 0)
        let gone = try run(["extension", "install", service.link], in: folder)
        #expect(gone.code == 68, "\(gone.words)")
        #expect(try run(["extension", "remove", "com.example.conference"], in: folder).code == 0)
        #expect(try run(["extension", "remove", "com.example.conference"], in: folder).code == 67)
    }

    @Test(arguments: [
        ["extension", "install", "https://example.com/"], ["extension", "install", "nonsense"],
        ["pair", "-bad-"], ["service", "--id", "nodots", "--accept", "any", "--headless"],
        ["service", "--id", "com.example.a", "--field", "UPPER", "--accept", "any", "--headless"],
    ])
    func badArgumentsAreToldWithoutACrash(_ arguments: [String]) throws {
        let result = try run(arguments, in: TemporaryFolder())
        #expect(result.code == 64 || result.code == 65, "\(result.words)")
        #expect(!result.words.isEmpty)
    }
}
