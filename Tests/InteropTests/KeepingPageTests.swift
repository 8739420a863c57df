import Admission
import BrowserControl
import Signaling
import Testing

@testable import Identifiers

extension InteropTests {
    /// The values that a browser stores: its certificate across visits, its admission across a reload.
    @Suite struct KeepingPageTests {
        @Test(arguments: Browser.Kind.allCases)
        func aReloadAsksNobodyAgain(kind: Browser.Kind) async throws {
            try await playing(kind) { browser, stage in
                try await browser.reload()
                try await browser.waitForState("playing")
                #expect(stage.delegate.knockCount == 1)
            }
        }

        @Test(arguments: Browser.Kind.allCases)
        func whoHasLeftIsAskedAfterAReload(kind: Browser.Kind) async throws {
            try await playing(kind) { browser, stage in
                try await browser.click("leave")
                try await browser.waitForState("ended")
                try await browser.reload()
                try await browser.waitForState("asking")
            }
        }

        /// The page does not knock again before a click.
        @Test(arguments: Browser.Kind.allCases)
        func anAdmissionThatTheHostHasForgottenIsAskedForAnew(kind: Browser.Kind) async throws {
            try await playing(kind) { browser, stage in
                _ = try await browser.evaluate(
                    """
                    Object.keys(sessionStorage).forEach(key => {
                        const kept = JSON.parse(sessionStorage.getItem(key));
                        kept.token = "x".repeat(43);
                        sessionStorage.setItem(key, JSON.stringify(kept));
                    })
                    """)
                try await browser.reload()
                try await browser.waitForState("asking")
                #expect(stage.delegate.knockCount == 1)
                try await browser.click("watch")
                try await browser.waitForState("playing")
                #expect(stage.delegate.knockCount == 2)
            }
        }

        @Test(arguments: Browser.Kind.allCases)
        func certificateAndKeyAreKeptOverVisits(kind: Browser.Kind) async throws {
            let visits = try await twoVisits(kind)
            #expect(visits[0].identity == visits[1].identity)
        }

        @Test(arguments: Browser.Kind.allCases)
        func anExpiredCertificateIsReplaced(kind: Browser.Kind) async throws {
            let visits = try await twoVisits(
                kind, later: "const now = Date.now; Date.now = () => now() + 366 * 86400000;")
            #expect(visits[0].fingerprint != visits[1].fingerprint && visits[0].identity.key != visits[1].identity.key)
        }

        /// Storage is not available, as in some private windows.
        @Test(arguments: Browser.Kind.allCases)
        func aBrowserThatKeepsNothingWatchesAllTheSame(kind: Browser.Kind) async throws {
            let visits = try await twoVisits(
                kind, preload: "IDBFactory.prototype.open = () => { throw new DOMException('', 'SecurityError'); };")
            #expect(visits[0].fingerprint != visits[1].fingerprint && visits[0].identity.key != visits[1].identity.key)
            try await playing(
                kind, preload: "IDBObjectStore.prototype.put = () => { throw new DOMException('', 'DataCloneError'); };"
            ) { browser, stage in
                try await browser.reload()
                try await browser.waitForState("asking")
                #expect(stage.delegate.knockCount == 1)
            }
        }

        private func twoVisits(
            _ kind: Browser.Kind, preload: String? = nil, later: String? = nil
        ) async throws -> [Knock] {
            var knocks: [Knock] = []
            try await PageStage.with { stage in
                try await Browser.with(kind) { browser in
                    if let preload { try await browser.preload(preload) }
                    for _ in 0..<2 {
                        try await browser.watch(stage.link.text)
                        knocks.append(try #require(await stage.delegate.knocks.next()))
                        // The fragment is sent when all stored values have been written.
                        #expect(await stage.delegate.fragments.next() != nil)
                        _ = try await browser.evaluate("sessionStorage.clear()")
                        try await browser.open("about:blank")
                        if let later { try await browser.preload(later) }
                    }
                }
            }
            return knocks
        }

        private func playing(
            _ kind: Browser.Kind, preload: String? = nil, _ body: (Browser, PageStage) async throws -> Void
        ) async throws {
            try await PageStage.with { stage in
                try await Browser.with(kind) { browser in
                    try await browser.loopMediaBack()
                    if let preload { try await browser.preload(preload) }
                    try await browser.watch(stage.link.text)
                    try await browser.waitForState("playing")
                    try await body(browser, stage)
                }
            }
        }
    }
}
