import BrowserControl
import Foundation
import Identity
import TestSupport
import Testing

extension InteropTests {
    /// A screen of 1920 x 1080 with small antialiased text in its upper quarter can be read where it is shown at two
    /// thirds of its size. tesseract reads the viewer's picture, and what it reads of the screen itself is what could
    /// be read.
    @Suite struct LegibilityTests {
        private let folder: TemporaryFolder
        private let screen: VirtualDisplay
        private let text: [String]
        private let terminal: Program

        /// The size of the letters in points: 9 are 12 pixels. Another one for figures by hand (Docs/legibility.md).
        private static let points = ProcessInfo.processInfo.environment["SHARE_LEGIBILITY_POINTS"] ?? "9"

        init() throws {
            folder = try TemporaryFolder()
            screen = try VirtualDisplay(width: 1_920, height: 1_080)
            var seed = SeededGenerator(seed: 5)
            let words = WordList.words.filter { $0.count >= 3 }
            let lines = (0..<14).map { _ in
                (0..<30).map { _ in words.randomElement(using: &seed) ?? "" }.joined(separator: " ")
            }
            text = lines.flatMap { $0.split(separator: " ").map(String.init) }
            let file = folder.file("page.txt")
            try lines.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
            terminal = try Program(
                "xterm",
                [
                    "-fa", "DejaVu Sans Mono", "-fs", Self.points, "-geometry", "300x90+0+0", "-bg", "white", "-fg",
                    "black",
                    "-b", "4", "+sb", "-bw", "0", "-e", "sh", "-c",
                    "tput civis; cat '\(file)'; touch '\(file).shown'; sleep 600",
                ], environment: ["DISPLAY": screen.name])
        }

        /// The words that tesseract reads in a picture, with how often. It wants large letters.
        private func read(_ picture: String) throws -> [String: Int] {
            let large = picture + ".large.png"
            let scaler = try Program(
                "ffmpeg",
                [
                    "-v", "error", "-y", "-i", picture, "-vf",
                    "crop=iw:ih/4:0:0,scale=iw*3:ih*3:flags=bilinear,format=gray", large,
                ])
            guard scaler.exitCode(seconds: 60) == 0 else { throw Program.Failure(scaler.text.errors) }
            // With more threads it takes as long, and keeps both cores from other tests.
            let reader = try Program(
                "tesseract", [large, "-", "--psm", "6"], environment: ["OMP_THREAD_LIMIT": "1"])
            guard reader.exitCode(seconds: 120) == 0 else { throw Program.Failure(reader.text.errors) }
            let words = reader.text.output.lowercased().split { !$0.isLetter }.map(String.init)
            return Dictionary(words.map { ($0, 1) }, uniquingKeysWith: +)
        }

        private func readDisplay(_ display: VirtualDisplay) throws -> [String: Int] {
            let file = folder.file("display.xwd")
            try display.run("xwd", ["-root", "-silent", "-out", file])
            return try read(file)
        }

        /// What of the page can be read on the screen itself.
        private func readable() throws -> [String: Int] {
            #expect(folder.waitForFile("page.txt.shown", seconds: 30))
            let written = Dictionary(text.map { ($0, 1) }, uniquingKeysWith: +)
            // The terminal's window comes before its text.
            for _ in 0..<5 {
                let found = try readDisplay(screen)
                let wanted = Dictionary(uniqueKeysWithValues: written.map { ($0, min($1, found[$0] ?? 0)) })
                if wanted.values.reduce(0, +) > text.count / 2 { return wanted }
            }
            throw Program.Failure("the page cannot be read on the screen itself")
        }

        /// The share of the words that the last of up to eight pictures has, until one has enough: a picture is refined
        /// for some seconds.
        private func share(of wanted: [String: Int], _ look: () async throws -> [String: Int]) async throws -> Double {
            var share = 0.0
            let count = wanted.values.reduce(0, +)
            for _ in 0..<8 {
                let found = try await look()
                share = Double(wanted.reduce(0) { $0 + min($1.value, found[$1.key] ?? 0) }) / Double(count)
                if share >= 0.95 { break }
            }
            if let file = ProcessInfo.processInfo.environment["SHARE_LEGIBILITY_RESULTS"] {
                try "\(Self.points) points, \(count) words: \(share)\n".write(
                    toFile: file, atomically: true, encoding: .utf8)
            }
            return share
        }

        private func withHost(_ body: (_ link: String) async throws -> Void) async throws {
            let host = try Program(
                Program.share(),
                [
                    "host", "--display", screen.name, "--audio", "none", "--accept", "any", "--listen", "127.0.0.1:0",
                    "--json", "--for", "300",
                ], environment: ["XDG_DATA_HOME": folder.path, "TMPDIR": folder.path, "DISPLAY": nil])
            let first = try await host.line(.standard, within: .seconds(30)) { $0.contains("\"link\"") }
            guard let link = try JSON(parsing: first)["link"].string else { throw Program.Failure(first) }
            try await body(link)
            host.interrupt()
            _ = await host.exitCode()
        }

        @Test func aWindowOfTwoThirdsIsRead() async throws {
            let wanted = try readable()
            let display = try VirtualDisplay(width: 1_280, height: 720)
            try await withHost { link in
                let viewer = try Program(
                    Program.share(), ["join", "--json", "--fullscreen", "--for", "200"],
                    environment: [
                        "SHARE_LINK": link, "DISPLAY": display.name, "XDG_DATA_HOME": folder.file("viewer"),
                    ])
                _ = try await viewer.line(.standard, within: .seconds(30)) { $0.contains("\"first-picture\"") }
                let found = try await share(of: wanted) { try readDisplay(display) }
                #expect(found >= 0.95)
            }
        }

        @Test(arguments: Browser.Kind.allCases)
        func aPageOfTwoThirdsIsRead(kind: Browser.Kind) async throws {
            let wanted = try readable()
            try await withHost { link in
                try await Browser.with(kind) { browser in
                    try await browser.setViewport(width: 1_280, height: 720)
                    try await browser.watch(link)
                    try await browser.waitForState("playing")
                    // What is written over the picture is hidden after a time.
                    #expect(try await browser.has(true, "document.getElementById('stage').classList.contains('idle')"))
                    let file = folder.file("page.png")
                    let found = try await share(of: wanted) {
                        try await browser.screenshot().write(to: URL(fileURLWithPath: file))
                        return try read(file)
                    }
                    #expect(found >= 0.95)
                }
            }
        }
    }
}
