"""Plots of the answers: charts as data, drawn by Vega-Lite. One module per kind of plot."""
