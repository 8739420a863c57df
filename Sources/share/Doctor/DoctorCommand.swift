import ArgumentParser
import CommandSupport
import FoundationEssentials
import Glibc
import HTTP
import Host
import Identifiers
import Identity
import MediaCore
import OpusCodec
import PeerConnection
import PixelConversion
import PortalCapture
import PulseAudio
import SessionBus
import ShareKit
import Signaling
import VPXCodec
import WindowPlayout
import X11Capture

struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check display, audio, codecs and network, and say how to fix problems.")

    @Option(help: ArgumentHelp("X display to check.", valueName: ":N"))
    var display: String?

    @Option(
        help: ArgumentHelp(
            "Check the connection to this link's host instead, without knocking; - for stdin. SHARE_LINK is ignored.",
            valueName: "link"))
    var link: String?

    @OptionGroup(title: "STUN and TURN servers to check") var serverOptions: ServerOptions

    func run() throws { try complaining { try examine() } }

    private func examine() throws {
        let servers = try serverOptions.servers()
        var findings: [Finding]
        if let link {
            findings =
                [checkNetwork(), checkConnections(), checkEncryption()]
                + checkWay(try Self.read(link == "-" ? readLine() ?? "" : link))
        } else {
            let environment = ProcessInfo.processInfo.environment
            let isWayland = display == nil && PortalSource.isWayland(environment)
            findings = [
                isWayland ? checkPortal(environment) : checkDisplay(), checkWindow(), checkSound(), checkMicrophone(),
                checkCodecs(), checkNetwork(), checkConnections(), checkEncryption(),
                checkIdentity(), checkBus(environment),
            ]
        }
        findings += checkServers(servers)
        let width = findings.map(\.subject.count).max() ?? 0
        for finding in findings {
            let mark = (finding.isGood ? "ok" : finding.failure).padded(to: 7)
            let subject = finding.subject.padded(to: width)
            write("\(mark) \(subject)  ", finding.what)
            if !finding.remedy.isEmpty { write(String(repeating: " ", count: width + 10) + "-> ", finding.remedy) }
        }
        if !findings.allSatisfy(\.isGood) { throw ExitStatus.missing.code }
    }

    /// Prints a label and a text beside it, wrapped to the terminal's width.
    private func write(_ label: String, _ text: String) {
        let margin = String(repeating: " ", count: label.count)
        guard let columns = ErrorOutput.columns(of: STDOUT_FILENO) else { return print(label + text) }
        for (index, line) in TextLayout.wrap(margin + text, columns: columns).enumerated() {
            print(TerminalStyle.current.fit(index == 0 ? label + line.dropFirst(margin.count) : line))
        }
    }

    private struct Finding {
        var subject: String
        var what: String
        var isGood = true
        var failure = "missing"
        var remedy = ""
    }

    private static func read(_ text: String) throws -> Link {
        do throws(LinkError) {
            return try Link(parsing: text)
        } catch {
            throw CommandError(error)
        }
    }

    private func checkWay(_ link: Link) -> [Finding] {
        var findings = blocking { await LinkProbe.check(link) }.map { step in
            Finding(
                subject: step.subject, what: step.what, isGood: step.isGood, failure: "fails", remedy: step.remedy)
        }
        if findings.allSatisfy(\.isGood) {
            findings.append(
                Finding(
                    subject: "media",
                    what:
                        "uses UDP, which only share join tests; a host gives its STUN and TURN servers to viewers that it accepts"
                ))
        }
        return findings
    }

    private func checkServers(_ servers: [ICEServer]) -> [Finding] {
        guard !servers.isEmpty else { return [] }
        let paths = ICEServerPreparation(servers)
        return blocking { await paths.findings() }.map { url, finding in
            Finding(
                subject: url.hasPrefix("stun") ? "stun" : "turn", what: "\(url) \(finding.words)",
                isGood: finding.isGood, failure: "fails", remedy: finding.remedy)
        }
    }

    private func checkDisplay() -> Finding {
        do throws(SourceFailure) {
            let screen = try X11Screen(display: display, converter: YUVConverter())
            defer { screen.close() }
            return Finding(
                subject: "capture", what: screen.summary, isGood: screen.limitations.isEmpty,
                remedy: screen.limitations.joined(separator: " "))
        } catch {
            return Finding(subject: "capture", what: error.message, isGood: false, remedy: error.remedy)
        }
    }

    private func checkPortal(_ environment: [String: String]) -> Finding {
        do throws(SourceFailure) {
            let portal = try PortalSource.abilities(environment)
            guard PipeWireServer.answers else { throw PipeWireServer.missing }
            let kinds = [(1, "monitors"), (2, "windows")].filter { portal.sourceTypes & $0.0 != 0 }.map(\.1)
            let restoring = portal.version >= 4 ? "asks once" : "asks each time"
            let control = portal.devices.isEmpty ? "viewers cannot control them" : "viewers can control monitors"
            return Finding(
                subject: "capture",
                what: "the desktop portal shares \(kinds.joined(separator: " and ")) over PipeWire, and \(restoring); "
                    + control)
        } catch {
            return Finding(subject: "capture", what: error.message, isGood: false, remedy: error.remedy)
        }
    }

    private func checkWindow() -> Finding {
        let name = display ?? ProcessInfo.processInfo.environment["DISPLAY"] ?? ""
        if name.isEmpty {
            return Finding(
                subject: "window", what: "DISPLAY is not set", isGood: false,
                remedy: "watch with 'share join --headless --snapshot FILE.png', or in a browser elsewhere")
        }
        setenv("DISPLAY", name, 1)
        // Without a driver's name, SDL tries others than X11, and some of them show nothing.
        let wayland = ProcessInfo.processInfo.environment["WAYLAND_DISPLAY"] ?? ""
        if display != nil || wayland.isEmpty { setenv("SDL_VIDEODRIVER", "x11", 1) }
        do throws(SourceFailure) {
            try VideoWindow.checkDisplay()
            return Finding(subject: "window", what: "display \(name)")
        } catch {
            return Finding(subject: "window", what: error.message, isGood: false, remedy: error.remedy)
        }
    }

    private func checkSound() -> Finding {
        do throws(SourceFailure) {
            let sound = SystemAudio()
            try sound.start(handler: { _, _ in }, ended: { _ in })
            defer { sound.stop() }
            return Finding(subject: "audio", what: sound.summary)
        } catch {
            return Finding(subject: "audio", what: error.message, isGood: false, remedy: error.remedy)
        }
    }

    /// Gives no remedy for a missing PulseAudio server, because `checkSound` gives it.
    private func checkMicrophone() -> Finding {
        do throws(SourceFailure) {
            let microphone = Microphone(source: nil)
            try microphone.start(handler: { _, _ in }, ended: { _ in })
            defer { microphone.stop() }
            return Finding(subject: "microphone", what: microphone.summary)
        } catch {
            return Finding(
                subject: "microphone", what: error.message, isGood: false,
                remedy: error.code == .noAudioServer ? "" : error.remedy)
        }
    }

    private func checkCodecs() -> Finding {
        do {
            let canvas = I420Buffer(PixelSize(width: 64, height: 64))
            let encoder = VP8Encoder()
            let frame = try encoder.encode(
                canvas, changed: BlockMap(canvas.size, filled: true), at: MediaInstant(nanoseconds: 1),
                VideoEncodeRequest(bitrate: .kilobits(1_000), isKeyframeRequested: true))
            guard let frame, try VP8Decoder().decode(frame.bytes) != nil else {
                return Finding(
                    subject: "codecs", what: "the VP8 decoder returns no frame for what the encoder made", isGood: false
                )
            }
            _ = try OpusFrameEncoder(.systemAudio)
            let others = VideoCodec.allCases.filter { $0 != .vp8 && VideoDecoders.installed.codecs.contains($0) }
            return Finding(
                subject: "codecs",
                what: "VP8 and Opus, encode and decode; \(others.map(\.rawValue).joined(separator: ", ")), decode",
                remedy: Self.missingDecoders)
        } catch {
            return Finding(
                subject: "codecs", what: "\(error)", isGood: false,
                remedy: "run Scripts/setup; libvpx and libopus are needed")
        }
    }

    /// What to install for the codecs that cannot be decoded; empty if all can.
    private static var missingDecoders: String {
        let missing = VideoCodec.allCases.map(\.decoder).filter { !$0.isInstalled() }.compactMap(\.library)
        let packages = missing.indices.filter { missing.firstIndex(of: missing[$0]) == $0 }.map {
            "\(missing[$0].package) (\(missing[$0].codecs))"
        }
        guard !packages.isEmpty else { return "" }
        return "to watch broadcasts of other tools in all codecs: \(packages.joined(separator: " and "))"
    }

    private func checkNetwork() -> Finding {
        let addresses = LocalAddresses.all()
        if addresses.isEmpty {
            return Finding(
                subject: "network", what: "only this machine can watch: there is no address but loopback",
                isGood: false,
                remedy: "connect to a network, or share within this machine")
        }
        let place = ListenAddress()
        let at = place.linkHost.contains(":") ? "[\(place.linkHost)]" : place.linkHost
        return Finding(
            subject: "network",
            what:
                "addresses: \(addresses.joined(separator: ", ")); a link names \(at). Whether others reach it only they can "
                + "tell: share doctor --link 'LINK' on their machine",
            remedy:
                "a firewall has to let in TCP \(DefaultPorts.signaling) (to \(DefaultPorts.signaling + DefaultPorts.further), "
                + "for further hosts) and UDP \(DefaultPorts.media.lowerBound) to \(DefaultPorts.media.upperBound)")
    }

    private func checkConnections() -> Finding {
        guard let failure = LoadedICE.failure else {
            return Finding(subject: "connections", what: "libnice finds the ways to others (ICE)")
        }
        return Finding(subject: "connections", what: failure, isGood: false, remedy: LoadedICE.remedy)
    }

    private func checkEncryption() -> Finding {
        let loaded = "OpenSSL \(LoadedDTLS.version) is loaded"
        guard LoadedDTLS.isFaulty else { return Finding(subject: "encryption", what: loaded) }
        return Finding(
            subject: "encryption",
            what:
                "\(loaded), and versions before \(LoadedDTLS.requiredVersion) have faults in DTLS: one datagram of anybody ends a "
                + "session (CVE-2026-75806), and a few take memory without end (CVE-2026-95690)",
            isGood: false, failure: "old",
            remedy:
                "upgrade libssl3 to 3.0.22-1~deb12u2 or later: apt-get update, apt-get install libssl3; Scripts/setup does that"
        )
    }

    private func checkBus(_ environment: [String: String]) -> Finding {
        SessionBusAddress.running(in: environment) == nil
            ? Finding(
                subject: "desktop",
                what:
                    "no session bus: no notification of a knock, no icon in the tray, and desktop programs do not see a "
                    + "broadcast; sharing works without")
            : Finding(subject: "desktop", what: "session bus: notifications, the tray and desktop programs")
    }

    private func checkIdentity() -> Finding {
        do {
            let identity = try Identity.loadOrCreate()
            let print = identity.fingerprint.prefix(8).map {
                String($0, radix: 16, uppercase: true).padded(to: 2, before: "0")
            }.joined(separator: ":")
            return Finding(subject: "identity", what: "certificate \(print)...")
        } catch {
            return Finding(
                subject: "identity", what: "\(error)", isGood: false,
                remedy: "make the folder writable, or set XDG_DATA_HOME")
        }
    }
}
