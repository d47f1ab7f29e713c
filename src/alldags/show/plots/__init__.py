"""Pictures: one file a plot; colours and sizes in `style`, writing files in `save`."""
