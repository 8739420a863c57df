import Foundation
import SessionDescription
import Signaling
import Testing

extension InteropTests {
    /// The page under a link, with a host that has no media.
    @Suite struct PageTests {
        @Test(arguments: Browser.Kind.allCases)
        func itWaitsConnectsAndTellsWhyItEnded(kind: Browser.Kind) async throws {
            let (gate, open) = AsyncStream<KnockDecision>.makeStream(bufferingPolicy: .bufferingNewest(1))
            try await PageStage.with(decision: { _ in await gate.next() ?? .unanswered }) { stage in
                try await Browser.with(kind) { browser in
                    try await browser.open(stage.link.text)
                    let waiting = try await browser.waitForState("waiting")
                    #expect(waiting.sentence.hasPrefix("Waiting for the host"))
                    let knock = try #require(await stage.desk.knocks.next())
                    #expect(
                        try await browser.evaluate("document.getElementById('four').textContent").string
                            == "\(knock.words)")
                    #expect(knock.kind == (kind == .chromium ? "Chrome" : "Firefox"))

                    open.yield(.accepted)
                    let offer = try ViewerOffer(try #require(await stage.desk.offers.next()))
                    #expect(offer.fingerprint.bytes == knock.fingerprint)
                    #expect(offer.audio.map(\.prefersStereo) == [true, true])
                    let fragment = try TrickleFragment.parse(try #require(await stage.desk.fragments.next()))
                    #expect(fragment.credentials == offer.credentials)
                    try await browser.waitForState("connecting")

                    await stage.server.endAll(reason: "the host went for lunch")
                    let ended = try await browser.waitForState("ended", within: .seconds(5))
                    #expect(ended.sentence == "The host went for lunch.")
                }
            }
        }

        /// A request that fails, and one that the host has no time for.
        @Test(arguments: Browser.Kind.allCases)
        func candidatesThatDidNotArriveAreSentAgain(kind: Browser.Kind) async throws {
            try await PageStage.with { stage in
                try await Browser.with(kind) { browser in
                    try await browser.preload(
                        """
                        const ask = window.fetch;
                        window.lost = [];
                        window.fetch = (path, options = {}) => {
                            if (options.method !== "PATCH" || window.lost.length === 2) return ask(path, options);
                            if (window.lost.push(options.body) === 1) return Promise.reject(new TypeError("no network"));
                            return Promise.resolve(new Response("", { status: 429 }));
                        };
                        """)
                    try await browser.open(stage.link.text)
                    let fragment = try #require(await stage.desk.fragments.next())
                    for lost in [0, 1] {
                        let body = try #require(try await browser.evaluate("window.lost[\(lost)]").string)
                        #expect(fragment.hasPrefix(body), "\(body) is not in \(fragment)")
                    }
                }
            }
        }

        @Test func aRefusalIsShownWithItsReason() async throws {
            try await PageStage.with(decision: { _ in .refused("not now") }) { stage in
                try await Browser.with(.chromium) { browser in
                    try await browser.open(stage.link.text)
                    #expect(try await browser.waitForState("refused").sentence == "Not now.")
                }
            }
        }

        @Test func nobodyAnswering() async throws {
            try await PageStage.with(configure: { $0.knockTimeout = .milliseconds(300) }, decision: stayAway) { stage in
                try await Browser.with(.chromium) { browser in
                    try await browser.open(stage.link.text)
                    #expect(try await browser.waitForState("ended").sentence.hasPrefix("Nobody answered"))
                }
            }
        }

        @Test func leavingThePageWithdrawsTheKnock() async throws {
            try await PageStage.with(decision: stayAway) { stage in
                try await Browser.with(.chromium) { browser in
                    try await browser.open(stage.link.text)
                    try await browser.waitForState("waiting")
                    try await browser.open("about:blank")
                    #expect(await stage.desk.withdrawals.next() == .left)
                }
            }
        }

        @Test(arguments: Browser.Kind.allCases)
        func closingThePageEndsItsSession(kind: Browser.Kind) async throws {
            try await PageStage.with { stage in
                try await Browser.with(kind) { browser in
                    try await browser.open(stage.link.text)
                    _ = await stage.desk.fragments.next()
                    try await browser.open("about:blank")
                    #expect(await stage.desk.closed.next() != nil)
                }
            }
        }

        @Test func aWrongLinkIsExplained() async throws {
            try await PageStage.with(configure: { $0.failureDelay = .zero }) { stage in
                try await Browser.with(.chromium) { browser in
                    let page = String(stage.link.text.prefix { $0 != "#" })
                    let fragment = String(stage.link.text.drop { $0 != "#" }.dropFirst())
                    let cases = [
                        ("", "This link lacks its last part"),
                        ("#" + fragment.dropLast(3), "This link is cut off: 3 characters"),
                        ("#" + fragment + "AA", "This link is mistyped: it is too long"),
                        ("#" + fragment.dropLast(1) + "!", "This link is mistyped: it has a character"),
                        ("#B" + fragment.dropFirst(), "This link is mistyped, or made by a newer"),
                    ]
                    for (end, sentence) in cases {
                        // Another query makes it another page, not only another fragment.
                        try await browser.open("\(page)?\(UUID().uuidString)\(end)")
                        #expect(try await browser.waitForState("error").sentence.hasPrefix(sentence))
                    }
                    let other = Link(
                        host: stage.link.host, port: stage.link.port, id: stage.link.id, secret: Link.randomSecret(),
                        fingerprint: stage.link.fingerprint)
                    try await browser.open(other.text)
                    #expect(try await browser.waitForState("refused").sentence == "This link is not right.")
                }
            }
        }

        /// A host in the middle has the link's secret at best, not the host's certificate.
        @Test(arguments: Browser.Kind.allCases)
        func anotherCertificateThanTheLinksIsNotTalkedTo(kind: Browser.Kind) async throws {
            try await PageStage.with { stage in
                try await Browser.with(kind) { browser in
                    let link = Link(
                        host: stage.link.host, port: stage.link.port, id: stage.link.id, secret: stage.link.secret,
                        fingerprint: stage.link.fingerprint.reversed())
                    try await browser.open(link.text)
                    #expect(
                        try await browser.waitForState("error").sentence == "This is not the host that the link names.")
                    #expect(await stage.desk.closed.next() != nil, "the session is given up")
                }
            }
        }

        /// Until the question is taken away.
        private var stayAway: @Sendable (Knock) async -> KnockDecision {
            { _ in
                let (never, end) = AsyncStream<KnockDecision>.makeStream(bufferingPolicy: .bufferingNewest(1))
                return await withTaskCancellationHandler {
                    await never.next() ?? .unanswered
                } onCancel: {
                    end.finish()
                }
            }
        }
    }
}
