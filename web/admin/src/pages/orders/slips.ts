/** How many packing slips are printed at once: each order is read by itself. */
export const mostSlips = 100;
