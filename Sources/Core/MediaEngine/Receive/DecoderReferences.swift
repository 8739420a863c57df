import MediaCore
import RTPWire

/// Which long-term references the decoder holds after the frames that were delivered, by PictureID: the header
/// extension `frameReferences` says which frames are stored, and a key frame is stored in both buffers.
struct DecoderReferences {
    private var golden: UInt16?
    private var alternate: UInt16?
    /// PictureID of the newer one; nil if there is none.
    private(set) var newest: UInt16?

    /// Whether a recovery frame that is predicted from this reference can be decoded.
    func holds(_ source: LongTermReferencesElement.Source?) -> Bool {
        guard let source, let pictureID = source.slot == .golden ? golden : alternate else { return false }
        return pictureID == source.pictureID
    }

    /// Takes in the frame that the decoder gets next.
    /// - Returns: its PictureID if it is stored as a long-term reference; else nil.
    mutating func note(pictureID: UInt16?, isKeyframe: Bool, stored: ReferenceSlot?) -> UInt16? {
        guard let pictureID, isKeyframe || stored != nil else {
            if isKeyframe { self = DecoderReferences() }
            return nil
        }
        if isKeyframe || stored == .golden { golden = pictureID }
        if isKeyframe || stored == .alternate { alternate = pictureID }
        newest = pictureID
        return pictureID
    }
}
