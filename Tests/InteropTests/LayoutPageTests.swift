import Admission
import BrowserControl
import MediaCore
import Signaling
import Testing

@testable import Identifiers

extension InteropTests {
    /// No element covers another important one, on a telephone in both orientations, and on a desktop.
    @Suite struct LayoutPageTests {
        static let sizes = [
            PixelSize(width: 360, height: 640), PixelSize(width: 640, height: 320), PixelSize(width: 1280, height: 800),
        ]

        /// The middle is half of the video's width and half of its height.
        @Test(arguments: Browser.Kind.allCases)
        func statisticsAndControlsLeaveThePicturesMiddleFree(kind: Browser.Kind) async throws {
            try await PageStage.with { stage in
                try await Browser.with(kind) { browser in
                    try await browser.loopMediaBack()
                    try await browser.preload(
                        """
                        const play = HTMLMediaElement.prototype.play;
                        HTMLMediaElement.prototype.play = function () {
                            return this.muted ? play.call(this) : Promise.reject(new DOMException("", "NotAllowedError"));
                        };
                        """)
                    try await browser.watch(stage.link.text)
                    try await browser.waitForState("playing")
                    try await browser.click("stats")
                    for size in Self.sizes {
                        try await browser.setViewport(width: size.width, height: size.height)
                        let faults = try await browser.evaluate(Self.faultsWhilePlaying)
                        #expect(faults == [], "\(size)")
                    }
                }
            }
        }

        @Test(arguments: Browser.Kind.allCases)
        func theQuestionAndTheWordsAreSeenWhole(kind: Browser.Kind) async throws {
            try await PageStage.with(decision: PageStage.stayAway) { stage in
                try await Browser.with(kind) { browser in
                    try await browser.open(stage.link.text)
                    for (state, ids) in [
                        ("asking", ["status", "hint", "name", "watch"]),
                        ("waiting", ["status", "four", "hint", "cancel"]),
                    ] {
                        try await browser.waitForState(state)
                        for size in Self.sizes {
                            try await browser.setViewport(width: size.width, height: size.height)
                            #expect(try await browser.evaluate(Self.hidden(ids)) == [], "\(state) \(size)")
                        }
                        if state == "asking" { try await browser.click("watch") }
                    }
                }
            }
        }

        private static let faultsWhilePlaying = """
            new Promise(done => {
                const video = document.getElementById("video"), panel = document.getElementById("statistics");
                const look = () => {
                    if (!panel.children.length) return setTimeout(look, 50);
                    const scale = Math.min(innerWidth / video.videoWidth, innerHeight / video.videoHeight);
                    const half = [video.videoWidth * scale / 4, video.videoHeight * scale / 4];
                    const middle = {
                        left: innerWidth / 2 - half[0], right: innerWidth / 2 + half[0],
                        top: innerHeight / 2 - half[1], bottom: innerHeight / 2 + half[1],
                    };
                    const cross = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
                    const faults = [], boxes = {};
                    for (const id of ["statistics", "unmute", "bar"]) {
                        const box = boxes[id] = document.getElementById(id).getBoundingClientRect();
                        if (!box.width) faults.push(id + " is not there");
                        if (box.left < 0 || box.top < 0 || box.right > innerWidth || box.bottom > innerHeight) faults.push(id + " leaves the window");
                        if (cross(box, middle)) faults.push(id + " covers the middle");
                        for (const other in boxes) if (other !== id && cross(box, boxes[other])) faults.push(id + " covers " + other);
                    }
                    for (const cell of panel.querySelectorAll("dt, dd")) {
                        if (cell.scrollWidth > cell.clientWidth + 1) faults.push(cell.textContent + " is cut off");
                    }
                    done(faults);
                };
                look();
            })
            """

        /// Returns those of the elements that are not entirely visible.
        private static func hidden(_ ids: [String]) -> String {
            """
            \(JSON.array(ids.map { .string($0) }).text).filter(id => {
                const element = document.getElementById(id), box = element.getBoundingClientRect();
                const at = document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
                return !box.width || box.left < 0 || box.top < 0 || box.right > innerWidth || box.bottom > innerHeight
                    || at !== element;
            })
            """
        }
    }
}
