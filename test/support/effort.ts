/** The factor of random testing, of what `npm test` does: `EFFORT=5 npm test`. Every run has other
 *  seeds, so that one run finds what another one has missed. */

export const effort: number = Number(process.env['EFFORT'] ?? 1)
