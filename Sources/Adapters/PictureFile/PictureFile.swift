// Adapters/PictureFile
