"""The DNN as a record: what is known about library components, and how the network is read from source."""
