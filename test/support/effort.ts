/** How many times as much random testing is wanted as `npm test` does: `EFFORT=5 npm test`. Every run has other seeds, so that
 *  what one run leaves out, another one finds. */

export const effort: number = Number(process.env['EFFORT'] ?? 1)
