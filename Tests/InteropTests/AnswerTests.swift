import BrowserControl
import SessionDescription
import Testing

extension InteropTests {
    /// Offers of every shape that browsers make, and whether they accept our answer.
    @Suite struct AnswerTests {
        @Test(arguments: Browser.Kind.allCases)
        func browsersTakeTheAnswer(kind: Browser.Kind) async throws {
            try await Browser.with(kind) { browser in
                for kinds in [
                    ["video", "audio", "audio"], ["audio", "video"], ["data", "video", "audio"], ["video"],
                ] {
                    for policy in ["max-bundle", "balanced"] {
                        for audioTracks in [0, 1, 2] {
                            try await exchange(browser, kinds, policy, audioTracks)
                        }
                    }
                }
            }
        }

        /// Sections that the host refuses have port 0 and still have the lines of a transport, as aiortc requires.
        @Test(arguments: Browser.Kind.allCases)
        func browsersTakeAnAnswerThatRefusesSections(kind: Browser.Kind) async throws {
            try await Browser.with(kind) { browser in
                for kinds in [
                    ["data", "video", "video", "audio", "audio", "audio"], ["video", "audio", "video", "data"],
                ] {
                    let directions = try await answered(browser, kinds, "max-bundle", 2)
                    let taken = directions.filter { $0 == "recvonly" }.count
                    #expect(taken == (kinds.count(where: { $0 == "audio" }) > 1 ? 3 : 2), "\(kinds) \(directions)")
                }
            }
        }

        private func exchange(_ browser: Browser, _ kinds: [String], _ policy: String, _ audioTracks: Int) async throws
        {
            let directions = try await answered(browser, kinds, policy, audioTracks)
            let audio = kinds.filter { $0 == "audio" }.count
            let expected = ["recvonly"] + (0..<audio).map { $0 < audioTracks ? "recvonly" : "inactive" }
            #expect(directions.sorted() == expected.sorted(), "\(kinds) \(policy) \(audioTracks)")
        }

        /// - Returns: the current directions of the browser's transceivers after our answer.
        private func answered(
            _ browser: Browser, _ kinds: [String], _ policy: String, _ audioTracks: Int
        ) async throws -> [String] {
            let offer = try await browser.evaluate(
                """
                (async () => {
                    window.peer?.close();
                    const peer = window.peer = new RTCPeerConnection({ bundlePolicy: "\(policy)" });
                    for (const kind of \(JSON.array(kinds.map { .string($0) }).text)) {
                        if (kind === "data") peer.createDataChannel("x");
                        else peer.addTransceiver(kind, { direction: "recvonly" });
                    }
                    await peer.setLocalDescription();
                    return peer.localDescription.sdp;
                })()
                """)
            let host = try PageDelegate.media(fingerprint: (0..<32).map { UInt8($0) }, audioTracks: audioTracks)
            let text = host.answer(to: try Offer(offer.string ?? "", for: .sending))
            let directions = try await browser.evaluate(
                """
                (async () => {
                    await peer.setRemoteDescription({ type: "answer", sdp: \(JSON.string(text).text) });
                    return peer.getTransceivers().map(each => each.currentDirection);
                })()
                """)
            return directions.array?.compactMap(\.string) ?? []
        }
    }
}
