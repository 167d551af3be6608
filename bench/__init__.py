"""calipers against its peers, side by side in one run: `make bench`.

data -> contenders (peers, paper) -> timing, memory -> truth -> checks -> report
        topclass, parquet ----------------------------------^
"""
