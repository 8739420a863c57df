import Host

/// Finds the viewer that a person means by a name, by the number in the list, or by the beginning of a fingerprint.
enum ViewerSelection {
    enum Found: Equatable {
        /// The first session of that viewer.
        case one(ViewerSessionInfo)
        /// The sessions of several viewers.
        case several([ViewerSessionInfo])
        case none
    }

    /// - Parameter text: a name counts before a fingerprint, of which 4 digits are needed. Digits alone are never a
    ///   name: the number of a viewer that has left just now would mean one that calls itself so.
    static func find(_ text: String, in viewers: [ViewerSessionInfo]) -> Found {
        let digits = text.lowercased().filter { $0 != ":" }
        let isPrefix = digits.count >= 4 && digits.allSatisfy { $0.isASCII && $0.isHexDigit }
        let isNumber = text.allSatisfy { $0.isASCII && $0.isNumber }
        let choices: [(ViewerSessionInfo) -> Bool] = [
            { String($0.number) == text },
            { !isNumber && $0.description.name == text },
            { isPrefix && ViewerStatus.hexadecimal($0.fingerprint).hasPrefix(digits) },
        ]
        for isMeant in choices {
            let found = viewers.filter(isMeant)
            guard let first = found.first else { continue }
            return found.allSatisfy { $0.isSameViewer(as: first) } ? .one(first) : .several(found)
        }
        return .none
    }
}
