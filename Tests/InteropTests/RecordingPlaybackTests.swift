import BrowserControl
import Foundation
import LinuxRuntime
import MediaCore
import TestSupport
import Testing

extension InteropTests {
    /// Browsers that play what `share record` wrote.
    @Suite struct RecordingPlaybackTests {
        @Test(arguments: Browser.Kind.allCases)
        func aRecordingPlaysAndSeeks(kind: Browser.Kind) async throws {
            let folder = try TemporaryFolder()
            try await ShareHost.with { host in
                let recorder = try record(host, folder, "finished.webm", ["--for", "5"])
                #expect(await recorder.exitCode() == 0)
                try await expectPlayback(of: folder.file("finished.webm"), kind, longerThan: 4.9)
            }
        }

        /// Recorders that were killed at random moments; SHARE_KILLS says how many (Benchmarks/Results/recording.md has
        /// 200).
        @Test func theRecordingsOfKilledRecordersPlayAndSeek() async throws {
            let count = ProcessInfo.processInfo.environment["SHARE_KILLS"].flatMap { Int($0) } ?? 4
            let folder = try TemporaryFolder()
            var generator = SeededGenerator(seed: UInt64(count))
            var shortfall = 0.0
            for begin in stride(from: 0, to: count, by: Self.recordersAtOnce) {
                let names = (begin..<min(begin + Self.recordersAtOnce, count)).map { "killed-\($0).webm" }
                // A host keeps the places of killed viewers for 30 s, so the next ones go to another host.
                try await ShareHost.with { host in
                    let recorders = try names.map { name in
                        try record(host, folder, name, [], identity: folder.file(name + ".identity"))
                    }
                    for (name, recorder) in zip(names, recorders) {
                        @Sendable func seconds(_ line: String) -> Double? {
                            guard let event = try? JSON(parsing: line), event["event"] == "statistics" else {
                                return nil
                            }
                            return event["seconds"].number
                        }
                        // The next report, as only that says how old the recording is.
                        let last = recorder.lines(.standard).compactMap(seconds).max() ?? 0
                        let least = max(1 + Double(generator.below(3)), last)
                        let line = try await recorder.line(.standard, within: .seconds(30)) { line in
                            seconds(line) ?? 0 > least
                        }
                        let heard = MonotonicClock.now
                        let lived = try #require(try JSON(parsing: line)["seconds"].number)
                        _ = recorder.exitCode(seconds: Double(generator.below(1_000)) / 1_000)
                        let age = lived + (MonotonicClock.now - heard).inSeconds
                        recorder.kill()
                        _ = await recorder.exitCode()
                        shortfall = max(shortfall, age - (try await expectToBeRead(folder.file(name))))
                    }
                }
            }
            #expect(shortfall < 1.5)
            for kind in Browser.Kind.allCases {
                try await Browser.with(kind) { browser in
                    for index in 0..<count {
                        try await expectPlayback(of: folder.file("killed-\(index).webm"), in: browser)
                    }
                }
            }
            print("\(count) recorders were killed; the last frame was \(shortfall) s before at most")
        }

        private static let recordersAtOnce = 10

        /// - Returns: the time of the last packet of the video.
        private func expectToBeRead(_ file: String) async throws -> Double {
            func output(_ program: String, _ arguments: [String]) async throws -> String {
                let program = try Program(program, arguments)
                #expect(await program.exitCode() == 0, "\(file): \(program.text.errors)")
                return program.text.output
            }
            let times = try await output(
                "ffprobe",
                ["-v", "error", "-select_streams", "v", "-show_entries", "packet=pts_time", "-of", "csv=p=0", file])
            for (program, arguments) in [
                (
                    "ffmpeg",
                    [
                        "-v", "error", "-xerror", "-nostdin", "-i", file, "-fps_mode", "passthrough",
                        "-enc_time_base", "1:1000", "-f", "null", "-",
                    ]
                ),
                ("mkvinfo", [file]), ("webm_info", ["-i", file]),
            ] {
                _ = try await output(program, arguments)
            }
            return times.split(separator: "\n").compactMap { Double($0.prefix { $0 != "," }) }.max() ?? 0
        }

        /// Its first frames are there, but are not shown.
        @Test(arguments: Browser.Kind.allCases)
        func aClipPlaysAndSeeks(kind: Browser.Kind) async throws {
            let folder = try TemporaryFolder()
            try await ShareHost.with { host in
                let viewer = try Program(
                    Program.share(), ["join", "--headless", "--json", "--clips", "6"],
                    environment: [
                        "SHARE_LINK": host.link, "XDG_DATA_HOME": folder.path, "TMPDIR": folder.path,
                        "XDG_RUNTIME_DIR": nil,
                    ])
                let reports = Monitor(0)
                _ = try await viewer.line(.standard, within: .seconds(30)) { line in
                    guard let event = try? JSON(parsing: line), event["event"] == "statistics" else { return false }
                    return reports.with { reports in
                        reports += 1
                        return reports > 7
                    }
                }
                let file = folder.file("clip.webm")
                let clip = try Program(
                    Program.share(), ["clip", "--last", "4", "-o", file],
                    environment: ["TMPDIR": folder.path, "XDG_RUNTIME_DIR": nil])
                #expect(await clip.exitCode() == 0)
                try await expectPlayback(of: file, kind, longerThan: 3.9)
                viewer.kill()
            }
        }

        /// `share recordings open`, as a user has it in a browser.
        @Test(arguments: Browser.Kind.allCases)
        func theLibraryShowsPlaysAndTrims(kind: Browser.Kind) async throws {
            let folder = try TemporaryFolder()
            try await ShareHost.with { host in
                let recorder = try record(host, folder, "one.webm", ["--for", "4"])
                #expect(await recorder.exitCode() == 0)
            }
            let library = try Program(
                Program.share(), ["recordings", "open", "--no-browser"],
                environment: ["XDG_DATA_HOME": folder.path, "XDG_CACHE_HOME": folder.path])
            let address = try await library.line(.standard, within: .seconds(20)) { $0.hasPrefix("http://127.0.0.1:") }
            try await Browser.with(kind) { browser in
                try await browser.open(address)
                let seen = try await browser.evaluate("(\(Self.trimming))()")
                #expect(seen["error"] == .null, "\(seen.text)")
                #expect(seen["cards"] == 1 && seen["pictureWidth"] == 320, "\(seen.text)")
                #expect(seen["message"] == "Saved as one-part.webm.", "\(seen.text)")
                #expect(seen["after"] == 2 && seen["range"] == "00:01 to 00:03", "\(seen.text)")
            }
            library.interrupt()
            #expect(await library.exitCode() == 0)
            #expect(FileManager.default.fileExists(atPath: folder.file("one-part.webm")))
        }

        /// Opens the recording, marks from 1 s to 3 s, and saves that.
        private static let trimming = """
            async () => {
                const until = async (what, isDone) => {
                    for (let left = 200; left > 0; left -= 1) {
                        if (isDone()) return;
                        await new Promise((done) => setTimeout(done, 50));
                    }
                    throw new Error(`no ${what}`);
                };
                const get = (id) => document.getElementById(id);
                const count = () => document.querySelectorAll(".card").length;
                try {
                    await until("card", () => count() > 0);
                    const cards = count();
                    const picture = document.querySelector(".card img");
                    await until("picture", () => picture.complete && picture.naturalWidth > 0);
                    document.querySelector(".card").click();
                    const video = get("video");
                    await until("video", () => video.readyState > 1);
                    for (const [place, button] of [[1, "begin"], [3, "finish"]]) {
                        video.currentTime = place;
                        await until("place", () => !video.seeking && video.currentTime === place);
                        get(button).click();
                    }
                    get("trim").click();
                    await until("answer", () => /aved/.test(get("message").textContent));
                    return {
                        cards, pictureWidth: picture.naturalWidth, message: get("message").textContent,
                        after: count(), range: get("range").textContent,
                    };
                } catch (error) { return { error: `${error} ${get("message").textContent}` }; }
            }
            """

        private func record(
            _ host: ShareHost, _ folder: TemporaryFolder, _ name: String, _ more: [String], identity: String? = nil
        ) throws -> Program {
            try Program(
                Program.share(), ["record", "--json", "-o", folder.file(name)] + more,
                environment: [
                    "SHARE_LINK": host.link, "XDG_DATA_HOME": identity ?? folder.path, "TMPDIR": folder.path,
                    "XDG_RUNTIME_DIR": nil,
                ])
        }

        /// Plays half a second, then seeks, without looking at the pictures.
        private func expectPlayback(of file: String, in browser: Browser) async throws {
            try await browser.open(try page(for: file))
            let seen = try await browser.evaluate("(\(Self.playing))()")
            #expect(seen["error"] == .null && seen["played"].number ?? 0 > 0.5, "\(file): \(seen.text)")
            let duration = seen["duration"].number ?? 0
            for place in [0.75, 0.25].map({ (duration * $0 * 10).rounded(.down) / 10 }) {
                #expect(try await browser.evaluate("(\(Self.seeking))(\(place))") == .number(place), "\(file)")
            }
        }

        private func page(for file: String) throws -> String {
            let page = file + ".html"
            let video = "<video muted preload=auto src='\(URL(fileURLWithPath: file).lastPathComponent)'></video>"
            try "<!doctype html><title>recording</title>\(video)".write(
                toFile: page, atomically: true, encoding: .utf8)
            return URL(fileURLWithPath: page).absoluteString
        }

        private func expectPlayback(of file: String, _ kind: Browser.Kind, longerThan seconds: Double) async throws {
            try await Browser.with(kind) { browser in
                try await browser.open(try page(for: file))
                let seen = try await browser.evaluate("(\(Self.playing))()")
                #expect(seen["error"] == .null, "\(seen.text)")
                #expect(seen["duration"].number ?? 0 > seconds, "\(seen.text)")
                #expect(seen["width"] == 1_280 && seen["height"] == 720, "\(seen.text)")
                #expect(seen["played"].number ?? 0 > 0.5, "\(seen.text)")
                // Forwards and back; the test video moves, so that each place looks different.
                var pictures: [Data] = []
                for place in [3, 1, 2] {
                    #expect(try await browser.evaluate("(\(Self.seeking))(\(place))") == .number(Double(place)))
                    pictures.append(try await browser.screenshot())
                }
                #expect(Set(pictures).count == 3)
            }
        }

        /// Plays for half a second.
        private static let playing = """
            async () => {
                const video = document.querySelector("video");
                const until = (name, isDone) => new Promise((done, fail) => {
                    const check = () => { if (isDone()) { video.removeEventListener(name, check); done(); } };
                    video.addEventListener(name, check);
                    check();
                    setTimeout(() => fail(new Error(`no ${name}`)), 10000);
                });
                try {
                    await until("loadedmetadata", () => video.readyState > 0);
                    await video.play();
                    await until("timeupdate", () => video.currentTime > 0.5);
                    video.pause();
                    return {
                        duration: video.duration, width: video.videoWidth, height: video.videoHeight,
                        played: video.currentTime,
                    };
                } catch (error) { return { error: `${error} ${video.error && video.error.message}` }; }
            }
            """

        /// Seeks, waits until the frame is shown, and returns the time.
        private static let seeking = """
            async place => {
                const video = document.querySelector("video");
                const shown = new Promise(done => video.requestVideoFrameCallback(done));
                const seeked = new Promise(done => video.addEventListener("seeked", done, { once: true }));
                video.currentTime = place;
                await seeked;
                await shown;
                return Math.round(video.currentTime * 10) / 10;
            }
            """
    }
}
