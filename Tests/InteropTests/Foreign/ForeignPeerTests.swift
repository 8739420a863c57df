import BrowserControl
import Foundation
import LinuxRuntime
import MediaCore
import NetworkBed
import TestSupport
import Testing

extension InteropTests {
    /// Other implementations of WebRTC play the media of a real `share host` by WHEP and its fixed token. The played
    /// media is compared with the source.
    @Suite struct ForeignPeerTests {
        @Test func theDocumentHasTheTableOfTheseTests() throws {
            let (document, table) = (try InteropTable.document, InteropTable.text)
            #expect(document.contains(table), "Docs/interoperability.md should have:\n\(table)")
        }

        /// The moving test pattern with two audio tracks, in sessions with different offers; then over a link that
        /// loses packets.
        @Test(arguments: ForeignPeer.allCases)
        func picturesAndSoundArriveWhateverIsOffered(peer: ForeignPeer) async throws {
            let sound = try PulseAudioServer()
            let tone = try sound.playTone(880, seconds: 300)
            defer { tone.kill() }
            try await ForeignBed.with(["--mic", "screen.monitor"], environment: sound.environment) { bed in
                let cases = peer.cases.filter { !$0.isOfStillScreen }
                try await play(cases.filter { !$0.isLossy }, in: bed, with: peer)
                try bed.link.set(ForeignBed.lossy)
                try await play(cases.filter(\.isLossy), in: bed, with: peer)
            }
        }

        private func play(_ cases: [PlayerCase], in bed: ForeignBed, with peer: ForeignPeer) async throws {
            for (each, first) in try await bed.play(cases, with: peer) {
                var run = first
                for _ in 0..<peer.furtherAttempts(each) where !isFluent(run, each, peer) {
                    print("interop: again, as \(peer) \(each.rawValue) was \(run.summary)")
                    run = try await bed.play([each], with: peer).first?.1 ?? run
                }
                expect(run, each, peer)
            }
        }

        private func expect(_ run: PlayerRun, _ playerCase: PlayerCase, _ peer: ForeignPeer) {
            let words = Comment(rawValue: "\(peer) \(playerCase.rawValue): \(run.summary)")
            print("interop: \(words.rawValue)")
            let options = PlayerOptions(playerCase)
            guard run.report["connected"] == true, run.report["error"] == .null else {
                Issue.record("not connected: \(words) \(run.report["answer"].string ?? "")")
                return
            }
            expectAnswer(run, playerCase, words)
            // The whole run, with all sounds, would be printed as an argument.
            let runsFluently = isFluent(run, playerCase, peer)
            #expect(runsFluently, "\(words)")
            if let picture = run.picture, let expected = picture.expectedPattern {
                #expect(picture.peakSignalToNoise(expected) > 30, "\(words)")
            } else {
                Issue.record("no test picture: \(words)")
            }
            // The system's audio and, for a second section, the microphone.
            let tones = [(440.0, 660.0), (880.0, 880.0)].prefix(options.media.count { $0 == "audio" })
            #expect(run.sounds.count == tones.count, "\(words)")
            for (sound, (left, right)) in zip(run.sounds, tones) {
                // Opus drops stereo at low bitrates.
                let isStereo = !playerCase.isLossy && playerCase != .rembOnly
                #expect(
                    sound.holds(left: left, right: right, isStereo: isStereo), "\(words) \(sound.summary)")
            }
        }

        /// Whether there were more than 20 frames a second, and no long gap between two.
        private func isFluent(_ run: PlayerRun, _ playerCase: PlayerCase, _ peer: ForeignPeer) -> Bool {
            let rate = (run.number("frames") ?? 0) / (run.number("seconds") ?? 1)
            // aiortc requests a packet only once, and webrtcbin's requests wait for RTCP's interval. Packets that are
            // lost twice may stay lost, and these players then wait until their buffers are full.
            let isSlowToAsk = playerCase.isLossy && (peer == .aiortc || peer == .gstreamer)
            return rate > 20 && (run.number("longestGap") ?? 99) < (isSlowToAsk ? 3 : 1)
        }

        /// Expects that the tested property was really negotiated.
        private func expectAnswer(_ run: PlayerRun, _ playerCase: PlayerCase, _ words: Comment) {
            let answer = run.report["answer"].string ?? ""
            switch playerCase {
            case .noRTX: #expect(!answer.contains("rtx/90000") && answer.contains("nack\r\n"), "\(words)")
            case .rembOnly: #expect(answer.contains("goog-remb") && !answer.contains("transport-cc"), "\(words)")
            case .transportCC: #expect(answer.contains("transport-cc"), "\(words)")
            case .dataChannel: #expect(answer.contains("m=application 0 "), "\(words)")
            case .trickle:
                #expect(run.report["offer"].string?.contains("a=candidate:") == false, "\(words)")
                #expect(run.report["patched"] == 204, "\(words)")
            default: break
            }
        }

        /// These players never use a candidate at 127.0.0.1.
        @Test(arguments: [ForeignPeer.gstreamer, .firefox])
        func aHostThatListensOnLoopbackIsWatchedOnItsMachine(peer: ForeignPeer) async throws {
            let sound = try PulseAudioServer()
            try await ForeignBed.with(environment: sound.environment, isOnLoopback: true) { bed in
                for (each, run) in try await bed.play([.defaultOffer], with: peer) { expect(run, each, peer) }
            }
        }

        /// A page of text on a still display, watched by all players at once.
        @Test func aStillPageOfTextIsSharpAndCostsNextToNothing() async throws {
            let page = TextPage()
            let expected = try #require(page.picture)
            let folder = try TemporaryFolder()
            try page.bitmap.write(toFile: folder.file("page.xbm"), atomically: true, encoding: .utf8)
            let display = try VirtualDisplay(width: TextPage.size.width, height: TextPage.size.height)
            try display.run("xsetroot", ["-bitmap", folder.file("page.xbm"), "-fg", "black", "-bg", "white"])
            try await ForeignBed.with(
                ["--source", "screen", "--display", display.name, "--audio", "none"]
            ) { bed in
                // Five key frames are sent at once.
                try bed.link.set(LinkConditions(kilobits: 200_000, delayMilliseconds: 10))
                let runs = try await withThrowingTaskGroup(of: (ForeignPeer, PlayerRun).self) { tasks in
                    for peer in ForeignPeer.allCases {
                        tasks.addTask {
                            let played = try await bed.play([.denseText], with: peer)
                            guard let run = played.first?.1 else { throw Program.Failure("\(peer) did not play") }
                            return (peer, run)
                        }
                    }
                    return try await tasks.reduce(into: []) { $0.append($1) }
                }
                for (peer, run) in runs {
                    let quality = run.picture?.peakSignalToNoise(expected) ?? 0
                    let words = Comment(rawValue: "\(peer) still: \(run.summary), \(quality) dB")
                    print("interop: \(words.rawValue)")
                    #expect(quality > 38, "\(words)")
                    let kilobits = (run.number("bytes") ?? .infinity) * 8 / 1_000 / (run.number("seconds") ?? 1)
                    #expect(kilobits < 20, "\(kilobits) kbit/s; \(words)")
                    #expect(run.report["keyFrames"] == 0, "\(words)")
                }
            }
        }
    }
}
