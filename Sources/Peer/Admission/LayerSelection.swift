/// The video layers that a player asks for: WHEP's layer selection (draft-ietf-wish-whep-events, "Video Layer Selection
/// extension"). What is nil is not limited.
public struct LayerSelection: Codable, Hashable, Sendable {
    /// The number of the m-line in the offer; nil: the first of video.
    public var mediaId: String?
    /// Of simulcast.
    public var rid: String?
    public var spatialLayerId: Int?
    public var temporalLayerId: Int?
    public var maxSpatialLayerId: Int?
    public var maxTemporalLayerId: Int?
    /// In pixels.
    public var maxWidth: Int?
    public var maxHeight: Int?

    /// - Parameter maxTemporalLayerId: the highest temporal layer that is wanted; nil: all.
    public init(maxTemporalLayerId: Int? = nil) { self.maxTemporalLayerId = maxTemporalLayerId }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        // The draft calls it a string, and an index.
        if let number = try? values.decode(Int.self, forKey: .mediaId) {
            mediaId = String(number)
        } else {
            mediaId = try values.decodeIfPresent(String.self, forKey: .mediaId)
        }
        rid = try values.decodeIfPresent(String.self, forKey: .rid)
        func number(_ key: CodingKeys) throws -> Int? {
            guard let number = try values.decodeIfPresent(Int.self, forKey: key) else { return nil }
            guard number >= 0 else {
                throw DecodingError.dataCorruptedError(forKey: key, in: values, debugDescription: "it is negative")
            }
            return number
        }
        spatialLayerId = try number(.spatialLayerId)
        temporalLayerId = try number(.temporalLayerId)
        maxSpatialLayerId = try number(.maxSpatialLayerId)
        maxTemporalLayerId = try number(.maxTemporalLayerId)
        maxWidth = try number(.maxWidth)
        maxHeight = try number(.maxHeight)
    }

    /// The highest temporal layer that is wanted; nil: all.
    public var highestTemporalLayer: Int? { [temporalLayerId, maxTemporalLayerId].compactMap { $0 }.min() }
}
