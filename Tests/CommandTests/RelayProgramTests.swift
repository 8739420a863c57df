import Foundation
import TestSupport
import Testing

/// The program share-relay, which `share relay` executes.
@Suite(.timeLimit(.minutes(2)))
struct RelayProgramTests {
    @Test func itLinksNoLibraryOfCaptureCodecsSoundAndWindows() throws {
        let text = try Program("ldd", [Program.built("share-relay")]).finish()
        let libraries = text.split(separator: "\n").compactMap { $0.split(separator: " ").first.map(String.init) }
            .map { $0.drop { $0 == "\t" } }
        #expect(libraries.contains { $0.hasPrefix("libsrtp2") }, "\(text)")
        // libnice is loaded when the first socket is opened.
        let foreign = [
            "libnice",
            "libX11", "libxcb", "libSDL", "libpulse", "libpipewire", "libvpx", "libopus", "libyuv", "libpng",
            "libfontconfig",
        ]
        for library in libraries { #expect(!foreign.contains { library.hasPrefix($0) }, "\(library)") }
    }

    @Test func shareRelayIsThatProgram() throws {
        let relay = try ShareProcess(["relay", "--listen", "127.0.0.1:0", "--accept", "any", "--json"])
        _ = try #require(relay.event("link"), "\(relay.errorText)")
        let name = try String(contentsOfFile: "/proc/\(relay.processID)/comm", encoding: .utf8)
        #expect(name == "share-relay\n")
        relay.interrupt()
        #expect(relay.exitCode() == 0)
    }

    @Test func bothNamesShowTheSameOptions() throws {
        let own = try Program(Program.built("share-relay"), ["--help"]).finish()
        let verb = try Program(Program.share(), ["relay", "--help"]).finish()
        #expect(own.contains("USAGE: share-relay"))
        #expect(verb.contains("USAGE: share relay"))
        func options(_ text: String) -> Substring? { text.range(of: "OPTIONS:").map { text[$0.lowerBound...] } }
        #expect(options(own) != nil)
        #expect(options(own) == options(verb))
    }
}
