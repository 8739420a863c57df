import ArgumentParser

/// A duration on the command line: "90", "90s", "10m", "1.5h". A number alone means seconds.
package struct Timespan: ExpressibleByArgument, Equatable, Sendable {
    package let seconds: Double

    package init(seconds: Double) { self.seconds = seconds }

    /// Returns nil unless the duration is above 0 and at most 10,000 hours.
    package init?(argument: String) {
        var text = argument[...]
        var factor = 1.0
        switch text.last {
        case "s": text = text.dropLast()
        case "m": (text, factor) = (text.dropLast(), 60)
        case "h": (text, factor) = (text.dropLast(), 3_600)
        default: break
        }
        guard text.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }), let number = Double(text) else {
            return nil
        }
        seconds = number * factor
        guard seconds > 0, seconds <= 36_000_000 else { return nil }
    }

    package var defaultValueDescription: String { seconds == seconds.rounded() ? "\(Int(seconds))s" : "\(seconds)s" }
}
