import Admission
import BrowserControl
import Identifiers
import Identity
import Signaling
import Testing

extension InteropTests {
    /// The WebSocket of messages, as a page opens it.
    @Suite struct SocketPageTests {
        @Test(arguments: Browser.Kind.allCases)
        func aPageOpensItAndLearnsWhyItIsClosed(kind: Browser.Kind) async throws {
            try await PageStage.with { stage in
                let token = try await token(stage.link)
                try await Browser.with(kind) { browser in
                    try await browser.open(stage.link.text)
                    let opened = try await browser.evaluate(
                        """
                        new Promise(done => {
                            const socket = new WebSocket(
                                `wss://${location.host}/\(stage.link.id.text)/messages`,
                                ["share.messages.1", "bearer.\(token)"]);
                            window.ending = new Promise(end => socket.onclose = event => end(event.code));
                            socket.onopen = () => {
                                socket.send("{}");
                                done(socket.protocol);
                            };
                            window.ending.then(code => done(`closed ${code}`));
                        })
                        """)
                    #expect(opened.string == "share.messages.1")
                    await stage.broadcast.end(reason: "over")
                    #expect(try await browser.evaluate("window.ending") == 1000)
                }
            }
        }

        private func token(_ link: Link) async throws -> String {
            let client = try SignalingClient(link: link)
            let ticket = try await client.knock(name: "x", identity: try Identity.ephemeral())
            let answer = try await client.waitForAnswer(ticket)
            await client.close()
            guard case .accepted(let token, _) = answer else { throw Browser.Failure(description: "not admitted") }
            return token
        }
    }
}
