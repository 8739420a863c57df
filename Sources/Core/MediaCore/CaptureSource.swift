/// What a host captures as its video: the value of `--source`.
public enum CaptureSource: Hashable, Sendable {
    /// The whole display, all monitors.
    case screen
    case monitor(Monitor)
    case window(Window)
    /// A part of the display, in its pixels. Neither side is empty.
    case region(PixelRect)
    /// What the user chooses in the dialog of the desktop portal (Wayland).
    case portal
    case camera(Camera)
    /// The test video.
    case test

    public enum Monitor: Hashable, Sendable {
        /// Counted from 1, the primary monitor first, then from left to right and from top to bottom.
        case number(Int)
        /// The name in RandR, such as "DP-1"; compared without case.
        case name(String)
    }

    public enum Window: Hashable, Sendable {
        /// The X11 window.
        case id(UInt32)
        /// The window whose title or class contains this text, compared without case.
        case title(String)
    }

    public enum Camera: Hashable, Sendable {
        /// Counted from 0, in the order of `share sources`.
        case number(Int)
        /// The first camera whose name contains this text, compared without case.
        case name(String)

        /// Reads `0` or `Webcam`.
        public init(parsing text: String) throws(ParseFailure) {
            guard !text.isEmpty else {
                throw ParseFailure(description: "camera needs a number or a part of the name, such as camera:0")
            }
            guard let number = Int(text) else {
                self = .name(text)
                return
            }
            guard (0...255).contains(number) else {
                throw ParseFailure(description: "a camera's number is from 0 to 255, not \(text)")
            }
            self = .number(number)
        }

        /// The text that `init(parsing:)` reads.
        public var text: String {
            switch self {
            case .number(let number): "\(number)"
            case .name(let name): name
            }
        }
    }

    /// Why a text names no source: a sentence that names what is possible.
    public struct ParseFailure: Error, Equatable, Sendable, CustomStringConvertible {
        public let description: String
    }

    /// The largest width, height and offset of a region, in pixels: the limit of VP8 frames.
    public static let largestSide = 16_383

    /// Reads `screen`, `monitor:2`, `monitor:DP-1`, `window:0x3c00007`, `window:Firefox`, `region:1280x720+100+50`,
    /// `portal`, `camera:0` or `test`.
    public init(parsing text: String) throws(ParseFailure) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let value = parts.count > 1 ? String(parts[1]) : nil
        switch (parts[0], value) {
        case ("screen", nil): self = .screen
        case ("portal", nil): self = .portal
        case ("test", nil): self = .test
        case ("monitor", let value?) where !value.isEmpty: self = .monitor(try Self.monitor(value))
        case ("window", let value?) where !value.isEmpty: self = .window(Self.window(value))
        case ("region", let value?): self = .region(try Self.region(value))
        case ("camera", let value?): self = .camera(try Camera(parsing: value))
        case ("monitor", _): throw ParseFailure(description: "monitor needs a number or a name, such as monitor:1")
        case ("window", _):
            throw ParseFailure(description: "window needs an id or a part of the title, such as window:0x3c00007")
        case ("region", _): throw ParseFailure(description: Self.regionForm)
        case ("camera", _):
            throw ParseFailure(description: "camera needs a number or a part of the name, such as camera:0")
        default:
            throw ParseFailure(
                description:
                    "'\(text)' is no source: screen, monitor:N, window:ID, region:WxH+X+Y, portal, camera:N or test"
            )
        }
    }

    /// The text that `init(parsing:)` reads.
    public var text: String {
        switch self {
        case .screen: "screen"
        case .monitor(.number(let number)): "monitor:\(number)"
        case .monitor(.name(let name)): "monitor:\(name)"
        case .window(.id(let id)): "window:0x\(String(id, radix: 16))"
        case .window(.title(let title)): "window:\(title)"
        case .region(let rect): "region:\(rect.width)x\(rect.height)+\(rect.x)+\(rect.y)"
        case .portal: "portal"
        case .camera(let camera): "camera:\(camera.text)"
        case .test: "test"
        }
    }

    /// Whether it shows what the user has on the screen, in contrast to a camera and the test video.
    public var isOfDesktop: Bool {
        switch self {
        case .screen, .monitor, .window, .region, .portal: true
        case .camera, .test: false
        }
    }

    private static let regionForm =
        "region needs a size and the upper left corner in pixels, such as region:1280x720+100+50"

    private static func monitor(_ value: String) throws(ParseFailure) -> Monitor {
        guard let number = Int(value) else { return .name(value) }
        guard number >= 1 else { throw ParseFailure(description: "monitors are counted from 1, not \(value)") }
        return .number(number)
    }

    private static func window(_ value: String) -> Window {
        let id =
            if value.hasPrefix("0x") || value.hasPrefix("0X") {
                UInt32(value.dropFirst(2), radix: 16)
            } else {
                UInt32(value)
            }
        return id.map { .id($0) } ?? .title(value)
    }

    private static func region(_ value: String) throws(ParseFailure) -> PixelRect {
        let numbers = value.split(omittingEmptySubsequences: false) { "xX+".contains($0) }
        let separators = value.filter { "xX+".contains($0) }
        guard numbers.count == 4, separators == "x++" || separators == "X++" else {
            throw ParseFailure(description: regionForm)
        }
        var values: [Int] = []
        for number in numbers {
            guard number.allSatisfy(\.isNumber), let value = Int(number) else {
                throw ParseFailure(description: regionForm)
            }
            guard value <= largestSide else {
                throw ParseFailure(description: "\(value) is too large for a region: at most \(largestSide) pixels")
            }
            values.append(value)
        }
        let rect = PixelRect(x: values[2], y: values[3], width: values[0], height: values[1])
        guard !rect.isEmpty else { throw ParseFailure(description: "a region of \(value) is empty") }
        return rect
    }
}
