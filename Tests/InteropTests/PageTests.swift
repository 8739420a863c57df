import Admission
import BrowserControl
import Foundation
import SessionDescription
import Signaling
import Synchronization
import Testing

@testable import Identifiers
@testable import Identity

extension InteropTests {
    /// The page under a link, with a host that has no media.
    @Suite struct PageTests {
        @Test(arguments: Browser.Kind.allCases)
        func itWaitsConnectsAndTellsWhyItEnded(kind: Browser.Kind) async throws {
            let (gate, open) = AsyncStream<KnockDecision>.makeStream(bufferingPolicy: .bufferingNewest(1))
            try await PageStage.with(decision: { _ in await gate.next() ?? .unanswered }) { stage in
                try await Browser.with(kind) { browser in
                    try await browser.watch(stage.link.text)
                    let waiting = try await browser.waitForState("waiting")
                    #expect(waiting.sentence.hasPrefix("Waiting for the host"))
                    let knock = try #require(await stage.delegate.knocks.next())
                    #expect(
                        try await browser.evaluate("document.getElementById('four').textContent").string
                            == "\(knock.words)")
                    #expect(knock.kind == (kind == .chromium ? "Chrome" : "Firefox"))
                    #expect(knock.identity.kind == .browser)

                    open.yield(.accepted)
                    let offer = try Offer(try #require(await stage.delegate.offers.next()), for: .sending)
                    #expect(offer.fingerprint.bytes == knock.fingerprint)
                    #expect(offer.audio.map(\.prefersStereo) == [true, true])
                    let fragment = try TrickleFragment.parse(try #require(await stage.delegate.fragments.next()))
                    #expect(fragment.credentials == offer.credentials)
                    try await browser.waitForState("connecting")

                    await stage.broadcast.end(reason: "the host went for lunch")
                    let ended = try await browser.waitForState("ended", within: .seconds(20))
                    #expect(ended.sentence == "The host went for lunch.")
                }
            }
        }

        /// The link of `share list`, which has no secret: the host is told so, and the words are to be compared.
        @Test(arguments: Browser.Kind.allCases)
        func anAnnouncedLinkIsOneOfAStranger(kind: Browser.Kind) async throws {
            let (gate, open) = AsyncStream<KnockDecision>.makeStream(bufferingPolicy: .bufferingNewest(1))
            try await PageStage.with(
                configure: { $0.isAnnounced = true }, decision: { _ in await gate.next() ?? .unanswered }
            ) { stage in
                try await Browser.with(kind) { browser in
                    let link = Link(
                        host: stage.link.host, port: stage.link.port, id: stage.link.id, secret: Link.announcedSecret,
                        fingerprint: stage.link.fingerprint)
                    try await browser.watch(link.text)
                    let knock = try #require(await stage.delegate.knocks.next())
                    #expect(knock.isFromAnnouncement)
                    try await browser.waitForState("waiting")
                    #expect(
                        try await browser.evaluate("document.getElementById('four').textContent").string
                            == "\(knock.words)")
                    open.yield(.accepted)
                    #expect(await stage.delegate.offers.next() != nil)
                    try await browser.waitForState("connecting")
                }
            }
        }

        /// A request that fails, and one that the host refuses as busy.
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
                    try await browser.watch(stage.link.text)
                    let fragment = try #require(await stage.delegate.fragments.next())
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
                    try await browser.watch(stage.link.text)
                    #expect(try await browser.waitForState("refused").sentence == "Not now; you can ask again in 60 s.")
                }
            }
        }

        @Test func nobodyAnswering() async throws {
            try await PageStage.with(
                configure: { $0.knockLimits.answer = .milliseconds(300) }, decision: PageStage.stayAway
            ) { stage in
                try await Browser.with(.chromium) { browser in
                    try await browser.watch(stage.link.text)
                    #expect(try await browser.waitForState("ended").sentence.hasPrefix("Nobody answered"))
                }
            }
        }

        /// The page is hidden, as on a phone whose user switches to a chat to tell the words.
        @Test(arguments: Browser.Kind.allCases)
        func aPageThatWasStoppedKnocksAgainWithTheSameWords(kind: Browser.Kind) async throws {
            let hasReturned = Atomic(false)
            try await PageStage.with(
                configure: { $0.knockLimits.abandoned = .milliseconds(500) },
                decision: { hasReturned.load(ordering: .relaxed) ? .accepted : await PageStage.stayAway($0) }
            ) { stage in
                try await Browser.with(kind) { browser in
                    try await browser.preload(
                        """
                        const ask = window.fetch;
                        const awake = new Promise(done => { window.wake = done; });
                        window.fetch = async (path, options = {}) => {
                            if (new RegExp("/knock/.").test(path) && !options.method) await awake;
                            return ask(path, options);
                        };
                        """)
                    try await browser.watch(stage.link.text)
                    let first = try #require(await stage.delegate.knocks.next())
                    #expect(await stage.delegate.withdrawals.next() == .left)
                    hasReturned.store(true, ordering: .relaxed)
                    _ = try await browser.evaluate("window.wake()")
                    let second = try #require(await stage.delegate.knocks.next())
                    #expect(second.id != first.id && second.words == first.words)
                    #expect(await stage.delegate.offers.next() != nil)
                }
            }
        }

        /// The page does not blame a firewall if the host named only its loopback address. A browser reports nothing
        /// without an address to try. The page's time limit of 25 s is over at once in this test.
        @Test(
            arguments: Browser.Kind.allCases,
            [
                ("127.0.0.1", "The host has only a loopback address"),
                ("192.0.2.7", "A firewall or the router"),
            ])
        func noWayAtAllIsToldWithItsReason(kind: Browser.Kind, cause: (address: String, words: String)) async throws {
            try await PageStage.with(address: cause.address) { stage in
                try await Browser.with(kind) { browser in
                    try await browser.preload(
                        """
                        const later = window.setTimeout;
                        window.setTimeout = (body, time, ...more) => later(body, time === 25000 ? 300 : time, ...more);
                        """)
                    try await browser.watch(stage.link.text)
                    let end = try await browser.waitForState("error", within: .seconds(20))
                    #expect(end.sentence == "No connection to the host is possible.")
                    #expect(end.hint.hasPrefix(cause.words), "\(end)")
                    #expect(end.hint.contains("at the host: \(cause.address)"), "\(end)")
                    #expect(await stage.delegate.closed.next() != nil)
                }
            }
        }

        @Test func leavingThePageWithdrawsTheKnock() async throws {
            try await PageStage.with(decision: PageStage.stayAway) { stage in
                try await Browser.with(.chromium) { browser in
                    try await browser.watch(stage.link.text)
                    try await browser.waitForState("waiting")
                    try await browser.open(stage.frontPage)
                    #expect(await stage.delegate.withdrawals.next() == .left)
                }
            }
        }

        @Test(arguments: Browser.Kind.allCases)
        func closingThePageEndsItsSession(kind: Browser.Kind) async throws {
            try await PageStage.with { stage in
                try await Browser.with(kind) { browser in
                    try await browser.watch(stage.link.text)
                    _ = await stage.delegate.fragments.next()
                    try await browser.open(stage.frontPage)
                    #expect(await stage.delegate.closed.next() != nil)
                }
            }
        }

        @Test func aWrongLinkIsExplained() async throws {
            try await PageStage.with(configureServer: { $0.failureDelay = .zero }) { stage in
                try await Browser.with(.chromium) { browser in
                    let page = String(stage.link.text.prefix { $0 != "#" })
                    let fragment = String(stage.link.text.drop { $0 != "#" }.dropFirst())
                    let cases = [
                        ("", "The link is incomplete: the part after #"),
                        ("#" + fragment.dropLast(3), "The link is incomplete: 3 characters"),
                        ("#" + fragment + "AA", "The link is mistyped: it is too long"),
                        ("#" + fragment.dropLast(1) + "!", "The link is mistyped: it has a character"),
                        ("#B" + fragment.dropFirst(), "The link is mistyped, or made by a newer"),
                    ]
                    for (end, sentence) in cases {
                        // Another query makes another page; another fragment alone does not.
                        try await browser.open("\(page)?\(UUID().uuidString)\(end)")
                        #expect(try await browser.waitForState("error").sentence.hasPrefix(sentence))
                    }
                    let other = Link(
                        host: stage.link.host, port: stage.link.port, id: stage.link.id, secret: Link.randomSecret(),
                        fingerprint: stage.link.fingerprint)
                    try await browser.watch(other.text)
                    #expect(try await browser.waitForState("refused").sentence == "The link is not right.")
                    // Some programs add a slash to the end of a path.
                    try await browser.watch("\(page)/#\(fragment)")
                    #expect(await stage.delegate.offers.next() != nil)
                }
            }
        }

        /// RFC 8122 allows further hashes, but neither link nor proof covers them: only the checked one is passed to
        /// the browser.
        @Test(arguments: Browser.Kind.allCases)
        func fingerprintsOfOtherHashesAreNeitherAnErrorNorTrusted(kind: Browser.Kind) async throws {
            try await PageStage.with { stage in
                try await Browser.with(kind) { browser in
                    try await browser.preload(
                        """
                        const ask = window.fetch;
                        const others = [["sha-384", 48], ["SHA-512", 64]].map(([name, length]) =>
                            `a=fingerprint:${name} ${Array(length).fill("AB").join(":")}\\r\\n`);
                        window.fetch = async (path, options = {}) => {
                            const answer = await ask(path, options);
                            if (options.method !== "POST" || answer.status !== 201) return answer;
                            const sdp = (await answer.text()).replace(/^a=fingerprint:.*\\r\\n/gm, `${others[0]}$&${others[1]}`);
                            window.given = sdp.match(/^a=fingerprint/gm).length;
                            return new Response(sdp, { status: 201, headers: answer.headers });
                        };
                        const set = RTCPeerConnection.prototype.setRemoteDescription;
                        RTCPeerConnection.prototype.setRemoteDescription = function (answer) {
                            window.used = answer.sdp.match(/^a=fingerprint:\\S+/gim);
                            return set.call(this, answer);
                        };
                        """)
                    try await browser.watch(stage.link.text)
                    #expect(await stage.delegate.fragments.next() != nil)
                    let used = try #require(try await browser.evaluate("window.used").array)
                    #expect(!used.isEmpty && used.allSatisfy { $0 == "a=fingerprint:sha-256" }, "\(used)")
                    let given = try await browser.evaluate("window.given").number
                    #expect(given == Double(3 * used.count))
                }
            }
        }

        /// A host in the middle has at most the link's secret, not the host's certificate. It may admit every viewer.
        @Test(arguments: Browser.Kind.allCases)
        func anotherCertificateThanTheLinksIsNotTalkedTo(kind: Browser.Kind) async throws {
            try await PageStage.with(answerFingerprint: Array(repeating: 7, count: 32)) { stage in
                try await Browser.with(kind) { browser in
                    try await browser.watch(stage.link.text)
                    #expect(
                        try await browser.waitForState("error").sentence == "This is not the host that the link names.")
                    #expect(await stage.delegate.closed.next() != nil, "the session is given up")
                }
            }
        }

        /// A signature that the page makes for the link's host is wrong for any other host.
        @Test func aKnockForTheLinksHostIsWrongElsewhere() async throws {
            try await PageStage.with { stage in
                try await Browser.with(.chromium) { browser in
                    let link = Link(
                        host: stage.link.host, port: stage.link.port, id: stage.link.id, secret: stage.link.secret,
                        fingerprint: stage.link.fingerprint.reversed())
                    try await browser.watch(link.text)
                    #expect(
                        try await browser.waitForState("error").sentence == "This is not the host that the link names.")
                    #expect(stage.server.statistics.refusals.wrongProofs == 1)
                }
            }
        }
    }
}
