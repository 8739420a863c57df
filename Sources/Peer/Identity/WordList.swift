/// The words that host and viewer compare: 256 short English nouns, no two alike in their first four letters.
///
/// Their order is part of the protocol: both sides turn the same number into the same word.
package enum WordList {
    package static let words: [String] = text.split(whereSeparator: \.isWhitespace).map { String($0) }

    /// Six words for the first six bytes of a fingerprint (32 bytes), for people who recognize or compare it.
    package static func words(ofFingerprint fingerprint: [UInt8]) -> String {
        fingerprint.prefix(6).map { words[Int($0)] }.joined(separator: " ")
    }

    /// The list in one piece, for the page's script.
    package static let text = """
        acorn actor alarm album amber anchor angel ankle apple apron arrow atlas attic autumn badge bagel
        baker bamboo banana banjo barrel basket beach beaver beetle bench berry bicycle biscuit blanket
        bonnet border bottle branch bread breeze brick bridge bronze brush bubble bucket buffalo button
        cabin cactus camel candle canoe canyon carpet carrot castle cedar cellar chalk cherry chess circle
        clover cobalt coffee comet compass copper coral cotton cousin cradle crater cricket crystal curtain
        cushion dahlia daisy dancer desert diamond dinner doctor dolphin donkey dragon drawer drummer eagle
        easel echo eleven ember engine envelope falcon farmer feather fiddle finger flute forest fossil
        fountain fox galaxy garden garlic gecko giant ginger giraffe glacier glove goblet gondola granite
        grape guitar hammer harbor harvest hazel hedge helmet heron hiker hockey honey hotel iceberg igloo
        indigo island ivory jacket jaguar jasmine jersey jigsaw juggler jungle kayak kernel kettle kitten
        koala ladder lagoon lantern laurel lemon leopard library lilac lizard lobster lotus lumber magnet
        mango maple marble market meadow melon mirror mitten monkey mosaic muffin museum napkin nectar
        needle nickel nutmeg oasis ocean octopus olive onion opera orange orchid otter oyster paddle palace
        panda paper parrot peach pebble pelican pencil pepper piano picnic pigeon pillow pilot planet plum
        pocket poem pony poplar potato prairie pretzel puddle puffin pumpkin puzzle quartz quilt rabbit
        raccoon radio raisin ranger raven ribbon river robin rocket saddle salmon sandal satin shadow silver
        sketch snail sparrow spider spinach spiral sponge squirrel stadium summer sunset swallow tango
        teapot temple thistle thunder tiger timber tomato torch trumpet tulip tunnel turtle
        """
}
