import BrowserControl
import Identifiers
import Signaling
import Testing

extension InteropTests {
    /// A picture that is larger than the page: at its own size, moved by keys, wheel and mouse, enlarged by fingers.
    @Suite struct PanPageTests {
        /// Left, top and width of the picture on the page, in CSS pixels.
        private static let place = """
            (box => [box.left, box.top, box.width].map(Math.round))(
                document.getElementById("video").getBoundingClientRect())
            """

        private func playing(
            _ kind: Browser.Kind, asTelephone: Bool = false, _ body: (Browser) async throws -> Void
        ) async throws {
            try await PageStage.with { stage in
                // A sender of Firefox begins with a smaller picture, as its first bitrate is low.
                let preferences = ["start_bitrate": "8000", "min_bitrate": "8000", "max_bitrate": "10000"]
                let names = preferences.map { ("media.peerconnection.video." + $0, $1) }
                try await Browser.with(
                    kind, preferences: kind == .firefox ? Dictionary(uniqueKeysWithValues: names) : [:]
                ) { browser in
                    if asTelephone { try await browser.emulate(touch: true) }
                    try await browser.setViewport(width: 480, height: 270)
                    try await browser.loopMediaBack(width: 960)
                    try await browser.watch(stage.link.text)
                    try await browser.waitForState("playing")
                    #expect(try await browser.has(960, "document.getElementById('video').videoWidth"))
                    try await body(browser)
                }
            }
        }

        @Test(arguments: Browser.Kind.allCases)
        func oneToOneIsPannedByKeysWheelAndMouse(kind: Browser.Kind) async throws {
            try await playing(kind) { browser in
                #expect(try await browser.has([0, 0, 480], Self.place))
                try await browser.press(.character("1"))
                #expect(try await browser.has([-240, -135, 960], Self.place))
                _ = try await browser.evaluate("dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' }))")
                #expect(try await browser.has([-304, -135, 960], Self.place))
                try await browser.turnWheel(x: 240, y: 100, across: 0, down: 100)
                #expect(try await browser.has([-304, -235, 960], Self.place))
                try await browser.turnWheel(x: 240, y: 100, across: -44, down: 0)
                #expect(try await browser.has([-260, -235, 960], Self.place))
                try await browser.drag(from: (200, 60), to: (180, 100))
                #expect(try await browser.has([-280, -195, 960], Self.place))
                // Not beyond its edge.
                try await browser.turnWheel(x: 240, y: 100, across: 0, down: 5_000)
                #expect(try await browser.has([-280, -270, 960], Self.place))
                try await browser.press(.character("1"))
                #expect(try await browser.has([0, 0, 480], Self.place))
                // What is seen whole does not move.
                try await browser.turnWheel(x: 240, y: 100, across: 50, down: 50)
                try await browser.press(.character("s"))
                #expect(try await browser.has(false, "document.getElementById('statistics').hidden"))
                #expect(try await browser.evaluate(Self.place) == [0, 0, 480])
            }
        }

        /// Real touch events, which Chromium's protocol has.
        @Test func fingersEnlargeAndMoveThePicture() async throws {
            try await playing(.chromium, asTelephone: true) { browser in
                #expect(try await browser.evaluate("document.getElementById('size').hidden") == true)
                #expect(try await browser.has([0, 0, 480], Self.place))
                // Twice as far from each other, about the same middle.
                try await browser.touch(from: [(190, 135), (290, 135)], to: [(140, 135), (340, 135)])
                #expect(try await browser.has([-240, -135, 960], Self.place))
                try await browser.touch(from: [(200, 60)], to: [(260, 90)])
                // A finger moves the picture from where it has left the place of a tap.
                #expect(try await browser.has([-200, -115, 960], Self.place))
                for _ in 0..<2 { try await browser.touch(from: [(200, 100)], to: [(200, 100)]) }
                #expect(try await browser.has([0, 0, 480], Self.place))
            }
        }
    }
}
