import Admission
import BrowserControl
import Foundation
import Signaling
import Testing

@testable import Identifiers

extension InteropTests {
    /// The page's question to its user before it knocks, and its offers at the end.
    @Suite struct AskingPageTests {
        @Test(arguments: Browser.Kind.allCases)
        func theNameIsAskedForBeforeTheHostIsAndRemembered(kind: Browser.Kind) async throws {
            try await PageStage.with { stage in
                try await Browser.with(kind) { browser in
                    try await browser.open(stage.link.text)
                    try await browser.waitForState("asking")
                    #expect(try await browser.evaluate("document.activeElement.id") == "name")
                    #expect(stage.delegate.knockCount == 0)
                    // Submits the form, as Enter does.
                    _ = try await browser.evaluate(
                        """
                        (document.getElementById("name").value = " Marie ", document.getElementById("form").requestSubmit())
                        """)
                    #expect(await stage.delegate.knocks.next()?.name == "Marie")

                    // The fragment is sent when all stored values have been written.
                    #expect(await stage.delegate.fragments.next() != nil)
                    _ = try await browser.evaluate("sessionStorage.clear()")
                    try await browser.open("about:blank")
                    try await browser.open(stage.link.text)
                    try await browser.waitForState("asking")
                    #expect(try await browser.evaluate("document.activeElement.id") == "watch")
                    #expect(stage.delegate.knockCount == 1)
                    try await browser.click("watch")
                    #expect(await stage.delegate.knocks.next()?.name == "Marie")
                }
            }
        }

        @Test func whoWaitsCanStopAsking() async throws {
            try await PageStage.with(decision: PageStage.stayAway) { stage in
                try await Browser.with(.chromium) { browser in
                    try await browser.watch(stage.link.text)
                    try await browser.waitForState("waiting")
                    try await browser.click("cancel")
                    #expect(await stage.delegate.withdrawals.next() == .left)
                    try await browser.waitForState("asking")
                    try await browser.click("watch")
                    try await browser.waitForState("waiting")
                }
            }
        }

        /// A refusal applies for a time, which the button shows.
        @Test func whoWasRefusedIsToldWhenToAskAgain() async throws {
            try await PageStage.with(
                configure: { $0.knockLimits.refusal = .seconds(4) }, decision: { _ in .refused("not now") }
            ) {
                stage in
                try await Browser.with(.chromium) { browser in
                    try await browser.watch(stage.link.text)
                    let refused = try await browser.waitForState("refused")
                    #expect(refused.sentence == "Not now; you can ask again in 4 s.")
                    let seen = try await browser.evaluate(
                        """
                        new Promise(done => {
                            const button = document.getElementById("watch"), seen = [];
                            const look = () => {
                                if (button.disabled) seen.push(button.textContent);
                                if (!button.disabled) done([seen.length > 0 && seen.every(text => /^Ask again in [1-4] s$/.test(text)), button.textContent]);
                            };
                            new MutationObserver(look).observe(button, { attributes: true, childList: true });
                            look();
                        })
                        """)
                    #expect(seen == [true, "Ask again"])
                    try await browser.click("watch")
                    try await browser.waitForState("waiting", "connecting", "refused")
                    for _ in 0..<2 { #expect(await stage.delegate.knocks.next() != nil) }
                }
            }
        }

        @Test func toWatchAgainIsOfferedOnlyToWhoWatched() async throws {
            try await PageStage.with(decision: { _ in .refused("not now") }) { stage in
                try await Browser.with(.chromium) { browser in
                    try await browser.watch(stage.link.text)
                    try await browser.waitForState("refused")
                    #expect(try await button(browser)?.hasPrefix("Ask again") == true)
                }
            }
            try await PageStage.with { stage in
                try await Browser.with(.chromium) { browser in
                    try await browser.preload("window.fetch = () => Promise.reject(new TypeError('no network'));")
                    try await browser.watch(stage.link.text)
                    try await browser.waitForState("error")
                    #expect(try await button(browser) == "Try again")
                }
                try await Browser.with(.chromium) { browser in
                    try await browser.loopMediaBack()
                    try await browser.watch(stage.link.text)
                    try await browser.waitForState("playing")
                    try await browser.click("leave")
                    try await browser.waitForState("ended")
                    #expect(try await button(browser) == "Watch again")
                    try await browser.click("watch")
                    try await browser.waitForState("playing")
                    await stage.broadcast.end(reason: "that was all")
                    try await browser.waitForState("ended")
                    #expect(try await button(browser) == nil, "the link is dead")
                }
            }
        }

        /// For other addresses than the broadcast's, the server returns a page in the viewer's style.
        @Test(arguments: Browser.Kind.allCases)
        func anOldLinkAndTheFrontPageSayWhatToDo(kind: Browser.Kind) async throws {
            try await PageStage.with { stage in
                try await Browser.with(kind) { browser in
                    let base = "https://127.0.0.1:\(stage.link.port)"
                    let fragment = stage.link.text.drop { $0 != "#" }
                    for (address, sentence, hint) in [
                        ("\(base)/", "A screen is shared from this computer.", "open the whole link"),
                        ("\(base)/0123456789ABC\(fragment)", "This host shares, but not under this link.", "new link"),
                        ("\(base)/some/where", "There is nothing here.", "open the whole link"),
                    ] {
                        try await browser.open(address)
                        #expect(
                            try await browser.evaluate("document.getElementById('status').innerText")
                                == .string(sentence))
                        let words = try await browser.evaluate("document.getElementById('hint').innerText").string
                        #expect(words?.contains(hint) == true)
                        // Light or dark, as the browser's user has it.
                        let isDark = try await browser.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
                        #expect(
                            try await browser.evaluate("getComputedStyle(document.body).backgroundColor")
                                == (isDark == true ? "rgb(16, 18, 20)" : "rgb(246, 247, 249)"))
                    }
                }
            }
        }

        /// The text of the button that continues; nil if there is none.
        private func button(_ browser: Browser) async throws -> String? {
            try await browser.evaluate(
                "document.getElementById('form').hidden ? null : document.getElementById('watch').textContent"
            ).string
        }
    }
}
