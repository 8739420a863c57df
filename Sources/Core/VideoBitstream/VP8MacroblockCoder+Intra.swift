/// Predictions from the pixels around a macroblock.
extension VP8MacroblockCoder {
    /// Predicts luma by the closest mode for the whole macroblock (RFC 6386 section 12.2).
    func predictWhole(_ place: VP8MacroblockPlace) {
        let (above, corner) = (place.above, place.corner(place.y))
        let mean = SIMD16(repeating: place.mean(place.y, side: 16))
        var differences = SIMD4<Int>.zero
        for line in 0..<16 {
            let here = UnsafeRawPointer(place.y.source + line &* place.y.sourceStride)
                .loadUnaligned(as: SIMD16<UInt8>.self)
            let left = SIMD16(repeating: place.left(place.y, line))
            differences[0] &+= here.difference(mean)
            differences[1] &+= here.difference(above)
            differences[2] &+= here.difference(left)
            differences[3] &+= here.difference(.trueMotion(left, above, corner))
        }
        whole.pointee.luma = Self.closest(differences)
        for line in 0..<16 {
            let left = SIMD16(repeating: place.left(place.y, line))
            let predicted: SIMD16<UInt8> =
                switch whole.pointee.luma {
                case .vertical: above
                case .horizontal: left
                case .trueMotion: .trueMotion(left, above, corner)
                default: mean
                }
            UnsafeMutableRawPointer(scratch.y + line &* 16).storeBytes(of: predicted, as: SIMD16<UInt8>.self)
        }
    }

    private static func closest(_ differences: SIMD4<Int>) -> VP8PredictionMode {
        let modes: InlineArray<4, VP8PredictionMode> = [.mean, .vertical, .horizontal, .trueMotion]
        let least = differences.min()
        for index in 0..<4 where differences[index] == least { return modes[index] }
        return .mean
    }

    func predictChroma(_ place: VP8MacroblockPlace) {
        let above = SIMD16(lowHalf: place.above(place.u), highHalf: place.above(place.v))
        let mean = SIMD16(
            lowHalf: SIMD8(repeating: place.mean(place.u, side: 8)),
            highHalf: SIMD8(repeating: place.mean(place.v, side: 8)))
        let corners = (place.corner(place.u), place.corner(place.v))
        func left(_ line: Int) -> SIMD16<UInt8> {
            SIMD16(
                lowHalf: SIMD8(repeating: place.left(place.u, line)),
                highHalf: SIMD8(repeating: place.left(place.v, line)))
        }
        func trueMotion(_ left: SIMD16<UInt8>) -> SIMD16<UInt8> {
            let (u, v) = (
                SIMD16<UInt8>.trueMotion(left, above, corners.0), SIMD16<UInt8>.trueMotion(left, above, corners.1)
            )
            return SIMD16(lowHalf: u.lowHalf, highHalf: v.highHalf)
        }
        var differences = SIMD4<Int>.zero
        for line in 0..<8 {
            let u = UnsafeRawPointer(place.u.source + line &* place.u.sourceStride)
            let v = UnsafeRawPointer(place.v.source + line &* place.v.sourceStride)
            let here = SIMD16(
                lowHalf: u.loadUnaligned(as: SIMD8<UInt8>.self), highHalf: v.loadUnaligned(as: SIMD8<UInt8>.self))
            let left = left(line)
            differences[0] &+= here.difference(mean)
            differences[1] &+= here.difference(above)
            differences[2] &+= here.difference(left)
            differences[3] &+= here.difference(trueMotion(left))
        }
        whole.pointee.chroma = Self.closest(differences)
        for line in 0..<8 {
            let predicted: SIMD16<UInt8> =
                switch whole.pointee.chroma {
                case .vertical: above
                case .horizontal: left(line)
                case .trueMotion: trueMotion(left(line))
                default: mean
                }
            UnsafeMutableRawPointer(scratch.u + line &* 8).storeBytes(of: predicted.lowHalf, as: SIMD8<UInt8>.self)
            UnsafeMutableRawPointer(scratch.v + line &* 8).storeBytes(of: predicted.highHalf, as: SIMD8<UInt8>.self)
        }
    }

    func showChromaPrediction(_ place: VP8MacroblockPlace) {
        place.u.show(scratch.u, stride: 8, side: 8)
        place.v.show(scratch.v, stride: 8, side: 8)
    }

    // MARK: Subblocks

    /// Codes luma by blocks of 4 x 4 pixels with modes of their own, each predicted from the ones before it (section
    /// 12.3).
    /// - Returns: whether it costs less than `limit`.
    func codeSubblocks(_ place: VP8MacroblockPlace, limit: Int) -> Bool {
        place.copyEdges(to: scratch.split, stride: Scratch.stride)
        for index in 0..<16 {
            let (x, y) = (index & 3, index >> 2)
            let target = scratch.split + (y &* 4 &* Scratch.stride &+ x &* 4)
            let prediction = VP8SubblockPrediction(target, Scratch.stride)
            guard place.isVisible(x, y) else {
                split.pointee.subblocks[index] = .mean
                split.pointee.levels[index] = VP8Rows()
                prediction(.mean).store(target, Scratch.stride)
                split.pointee.cost &+= Self.modeCosts[0]
                continue
            }
            split.pointee.cost &+= codeSubblock(index, place.y.source(x, y), prediction, target)
            guard split.pointee.cost < limit else { return false }
        }
        return true
    }

    /// Tries the two closest modes.
    private func codeSubblock(
        _ index: Int, _ block: VP8Block, _ prediction: VP8SubblockPrediction, _ target: UnsafeMutablePointer<UInt8>
    ) -> Int {
        var (first, second) = (VP8SubblockMode.mean, VP8SubblockMode.mean)
        var (least, next) = (Int.max, Int.max)
        for number in UInt8(0)..<10 {
            guard let mode = VP8SubblockMode(rawValue: number) else { break }
            let difference = block.difference(prediction(mode))
            if difference == 0 {
                split.pointee.subblocks[index] = mode
                split.pointee.levels[index] = VP8Rows()
                block.store(target, Scratch.stride)
                return Self.modeCosts[Int(number)]
            }
            let weight = difference &* costOfDifference &+ Self.modeCosts[Int(number)]
            if weight < least {
                (second, next) = (first, least)
                (first, least) = (mode, weight)
            } else if weight < next {
                (second, next) = (mode, weight)
            }
        }
        var best = Int.max
        for mode in [first, second] {
            let coefficients = block.residuals(prediction(mode)).cosineTransform
            let levels = quantizers.luma.levels(coefficients)
            let cost =
                quantizers.cost(levels, of: coefficients, quantizers.luma) &+ Self.modeCosts[Int(mode.rawValue)]
            guard cost < best else { continue }
            best = cost
            split.pointee.subblocks[index] = mode
            split.pointee.levels[index] = levels
        }
        let coefficients = quantizers.luma.coefficients(split.pointee.levels[index])
        prediction(split.pointee.subblocks[index]).adding(coefficients.inverseCosineTransform).store(
            target, Scratch.stride)
        return best
    }

    /// In 1/16 bit.
    private static let modeCosts: [Int] = VP8SubblockMode.allCases.map { mode in
        var cost = 0
        VP8MacroblockModes.forEachSubblockBit(mode) {
            cost += VP8BitCost.of($1, VP8Probabilities.subblockModes[$0])
        }
        return cost / 16
    }
}
