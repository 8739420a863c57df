import BrowserControl
import Foundation
import MediaCore
import Signaling
import TestSupport
import Testing

@testable import Identifiers

extension InteropTests {
    /// Whoever has no mouse, or does not see the page, can use it, too.
    @Suite struct AccessPageTests {
        /// axe-core finds nothing serious in any state, in light and in dark colors. The pictures of the states go into
        /// the folder SHARE_SCREENS, if there is one (Scripts/screens).
        @Test(arguments: Browser.Kind.allCases, ["light", "dark"])
        func axeFindsNothingSerious(kind: Browser.Kind, scheme: String) async throws {
            let axe = try Self.axe.get()
            let folder = ProcessInfo.processInfo.environment["SHARE_SCREENS"]
            try await PageStates.visit(kind, scheme: scheme) { browser, state in
                #expect(
                    try await browser.evaluate("matchMedia('(prefers-color-scheme: \(scheme))').matches") == true)
                if let folder {
                    // With two digits, in the order of the names.
                    let number = 10 + (PageStates.allCases.firstIndex(of: state) ?? 0)
                    try await browser.screenshot().write(
                        to: URL(fileURLWithPath: "\(folder)/\(kind)-\(scheme)-\(number)-\(state).png"))
                }
                _ = try await browser.evaluate("(() => { if (!window.axe) { \(axe) }; return true; })()")
                let faults = try await browser.evaluate(
                    """
                    axe.run(document, { resultTypes: ["violations"] }).then(report => report.violations
                        .filter(fault => ["serious", "critical"].includes(fault.impact))
                        .map(fault => fault.id + ": " + fault.nodes.map(node => node.html).join(" ")))
                    """, within: .seconds(60))
                #expect(faults == [], "\(state)")
            }
        }

        /// Tab reaches each button that is there, and a button with the focus is marked.
        @Test(arguments: Browser.Kind.allCases)
        func theKeyboardReachesEachControl(kind: Browser.Kind) async throws {
            try await PageStates.visit(kind, scheme: nil) { browser, state in
                // Firefox's own controls take the focus after the last one of the page, and the driver cannot take it
                // back for certain: the later states are looked at in Chromium alone.
                if kind == .firefox, ![.asking, .words].contains(state) { return }
                // The keyboard is the host's until then.
                if state == .controlling {
                    try await browser.act([.pressKey(.rightControl), .releaseKey(.rightControl)])
                }
                let wanted = try await browser.evaluate(
                    """
                    [...document.querySelectorAll("button, input, a[href], summary")].filter(item => item.checkVisibility()
                        && !item.disabled && (!document.querySelector("dialog[open]") || item.closest("dialog")))
                        .map(item => item.id || item.localName)
                    """)
                // From the first one, as Firefox's focus goes on to the controls of its window, and stays there.
                try await browser.activate()
                let first = try #require(wanted.array).first { $0 != "summary" }
                if let id = first?.string {
                    _ = try await browser.evaluate(
                        "(document.getElementById('\(id)') || document.querySelector('\(id)')).focus()")
                }
                var reached = Set([first].compactMap(\.self))
                for _ in 0..<30 {
                    try await browser.press(.tab)
                    let focused = try await browser.evaluate(
                        """
                        (item => document.hasFocus() && [
                            item.id || item.localName, getComputedStyle(item).outlineStyle !== "none", getComputedStyle(item).opacity,
                        ])(document.activeElement)
                        """)
                    if focused != false, wanted.array?.contains(focused[0]) == true {
                        #expect(focused[1] == true && focused[2] == "1", "\(state): \(focused)")
                        reached.insert(focused[0])
                    }
                    if reached.count == wanted.array?.count { break }
                }
                // What stands before it.
                if let id = first?.string, wanted.array?.contains("summary") == true, !reached.contains("summary") {
                    try await browser.activate()
                    _ = try await browser.evaluate("document.getElementById('\(id)').focus()")
                    try await browser.act([.pressKey(.shift), .pressKey(.tab), .releaseKey(.tab), .releaseKey(.shift)])
                    reached.insert(try await browser.evaluate("document.activeElement.localName"))
                }
                #expect(reached == Set(wanted.array ?? []), "\(state)")
                #expect(!reached.isEmpty || state == .connecting || state == .ended)
            }
        }

        /// The accessibility tree that a screen reader gets: each control has a role and a name, comments are a log.
        @Test func aScreenReaderHasANameForEachControl() async throws {
            try await PageStates.visit(.chromium, scheme: nil) { browser, state in
                let nodes = try await browser.call("Accessibility.getFullAXTree")["nodes"].array ?? []
                let shown = nodes.filter { $0["ignored"] != true }
                func role(_ node: JSON) -> String { node["role"]["value"].string ?? "" }
                let controls = shown.filter { ["button", "textbox", "link", "dialog", "checkbox"].contains(role($0)) }
                #expect(!controls.isEmpty || state == .connecting || state == .ended, "\(state)")
                for control in controls {
                    #expect(control["name"]["value"].string?.isEmpty == false, "\(state): \(control)")
                }
                #expect(shown.contains { role($0) == "heading" }, "\(state)")
                if state == .playing {
                    #expect(shown.contains { role($0) == "log" && $0["name"]["value"] == "Comments" })
                }
            }
        }

        /// `?` and F1 show all keys and hide them; so do Escape and the button. Other keys do nothing meanwhile.
        @Test(arguments: Browser.Kind.allCases)
        func theHelpListsTheKeysOfWhatThisViewerMay(kind: Browser.Kind) async throws {
            try await PlayingPageTests().playing(kind) { browser, stage in
                let isOpen = "document.getElementById('help').open"
                for (show, hide) in [
                    (Browser.Key.character("?"), Browser.Key.character("?")), (.f1, .f1), (.character("?"), .escape),
                ] {
                    try await browser.press(show)
                    #expect(try await browser.has(true, isOpen), "\(show)")
                    try await browser.press(hide)
                    #expect(try await browser.has(false, isOpen), "\(hide)")
                }
                try await browser.click("keys")
                #expect(try await browser.has(true, isOpen))
                try await browser.press(.character("s"))
                #expect(try await browser.evaluate("document.getElementById('statistics').hidden") == true)
                let keys = """
                    [...document.querySelectorAll("#help tr")].filter(row => row.checkVisibility())
                        .map(row => row.querySelector("th").textContent)
                    """
                let before = try #require(try await browser.evaluate(keys).array)
                for key in ["F", "1", "M", "S", "Q", "?, F1"] { #expect(before.contains(.string(key))) }
                for key in ["C", "P", "R", "Tap"] { #expect(!before.contains(.string(key)), "\(key)") }
                let hasSmallWindow = try await browser.evaluate("document.pictureInPictureEnabled === true")
                #expect(.bool(before.contains("I")) == hasSmallWindow)
                try await PlayingPageTests().tellCount(2, stage, browser)
                let session = try #require(await stage.delegate.opened.next())
                let rights = ViewerRights(comment: .yes, point: .no, control: .no)
                stage.broadcast.send(.rights(GrantedRights(rights)), to: [session])
                #expect(try await browser.has(true, "(\(keys)).includes('C')"))
                try await browser.click("close-help")
                #expect(try await browser.has(false, isOpen))
                // The end of the session is seen at once.
                try await browser.press(.f1)
                #expect(try await browser.has(true, isOpen))
                await stage.broadcast.end(reason: "over")
                try await browser.waitForState("ended")
                #expect(try await browser.has(false, isOpen))
            }
        }

        private static let axe = Result<String, any Error> {
            let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .appendingPathComponent("../PageTests/axe/prepare").standardized.path
            let program = try Program(script)
            guard program.exitCode(seconds: 120) == 0, let path = program.lines(.standard).last else {
                throw Program.Failure("\(script) failed: \(program.text.errors.suffix(1_000))")
            }
            return try String(contentsOfFile: path, encoding: .utf8)
        }
    }
}
