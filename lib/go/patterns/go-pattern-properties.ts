/** Names of classes of Unicode as Go's regular expressions read them: regardless of case, spaces
 *  and hyphens. */

/** General categories with their long names, as Go knows them. */
const categories: Readonly<Record<string, string>> = {
  C: 'other',
  Cc: 'control cntrl',
  Cf: 'format',
  Cn: 'unassigned',
  Co: 'privateuse',
  Cs: 'surrogate',
  L: 'letter',
  LC: 'casedletter',
  Ll: 'lowercaseletter',
  Lm: 'modifierletter',
  Lo: 'otherletter',
  Lt: 'titlecaseletter',
  Lu: 'uppercaseletter',
  M: 'mark combiningmark',
  Mc: 'spacingmark',
  Me: 'enclosingmark',
  Mn: 'nonspacingmark',
  N: 'number',
  Nd: 'decimalnumber digit',
  Nl: 'letternumber',
  No: 'othernumber',
  P: 'punctuation punct',
  Pc: 'connectorpunctuation',
  Pd: 'dashpunctuation',
  Pe: 'closepunctuation',
  Pf: 'finalpunctuation',
  Pi: 'initialpunctuation',
  Po: 'otherpunctuation',
  Ps: 'openpunctuation',
  S: 'symbol',
  Sc: 'currencysymbol',
  Sk: 'modifiersymbol',
  Sm: 'mathsymbol',
  So: 'othersymbol',
  Z: 'separator',
  Zl: 'lineseparator',
  Zp: 'paragraphseparator',
  Zs: 'spaceseparator',
}

const known = new Map([
  ['any', 'Any'],
  ['assigned', 'Assigned'],
  ['ascii', 'ASCII'],
  ...Object.entries(categories).flatMap(([short, long]) =>
    [short.toLowerCase(), ...long.split(' ')].map(name => [name, short] as const),
  ),
])

/** Scripts of four letters; all other such names are short ones, which Go does not know. */
const shortScripts = new Set('Ahom Cham Kawi Lisu Miao Modi Newa Thai Toto'.split(' '))

/** The property as JavaScript names it; undefined if Go has no such class. Scripts with names of
 *  several words cannot be named in Go. */
export function propertyOf(name: string): string | undefined {
  const plain = name.replaceAll(/[ _-]/g, '').toLowerCase()
  const property = known.get(plain)
  if (property !== undefined || !/^[a-z]+$/.test(plain)) return property
  const script = plain.charAt(0).toUpperCase() + plain.slice(1)
  if (script.length === 4 && !shortScripts.has(script)) return undefined
  try {
    // A script that JavaScript does not know either is a SyntaxError.
    void new RegExp(`\\p{Script=${script}}`, 'v')
    return `Script=${script}`
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
