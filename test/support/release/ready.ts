/** The reasons why what is here should not be published: read from texts, without asking anyone. */

export interface ReleaseState {
  readonly version: string
  readonly changelog: string
  /** Output of `git status --porcelain`. */
  readonly status: string
  /** Names of tags. */
  readonly tags: readonly string[]
  /** The release note of the version; undefined if there is none. */
  readonly note: string | undefined
}

/** A note is read in a minute. */
const noteMaxLines = 120

/** Each reason as a sentence that says what to do; none if it may be published. */
export function reasonsAgainst({ version, changelog, status, tags, note }: ReleaseState): string[] {
  const reasons: string[] = []
  const changed = status.split('\n').filter(line => line !== '')
  if (changed.length > 0) {
    reasons.push(`the tree has changes that are not committed: ${changed.slice(0, 5).join(', ')}`)
  }
  const sections = sectionsOf(changelog)
  const own = sections.find(({ title }) => title.startsWith(`[${version}]`))
  if (own === undefined) {
    reasons.push(
      `CHANGELOG.md has no section "## [${version}] - YYYY-MM-DD": give Unreleased that title`,
    )
  } else if (!/^\[[^\]]+\] - \d{4}-\d{2}-\d{2}$/.test(own.title)) {
    reasons.push(`the section of ${version} in CHANGELOG.md has no date: "${own.title}"`)
  }
  const unreleased = sections.find(({ title }) => title === '[Unreleased]')
  if (unreleased !== undefined && unreleased.text.trim() !== '') {
    reasons.push('CHANGELOG.md has entries under Unreleased: move them to the section of a version')
  }
  if (note === undefined) {
    reasons.push(`${noteOf(version)} is missing: one page of what is new, for who meets it first`)
  } else if (note.split('\n').length > noteMaxLines) {
    reasons.push(
      `${noteOf(version)} has more than ${noteMaxLines} lines: the changelog has the rest`,
    )
  }
  if (tags.includes(`v${version}`)) {
    reasons.push(`the tag v${version} exists: npm version patch, minor or major makes the next`)
  }
  return reasons
}

/** The release note of a version, which the host of the repository shows with it. */
export function noteOf(version: string): string {
  return `deploy/releases/v${version}.md`
}

function sectionsOf(changelog: string): { readonly title: string; readonly text: string }[] {
  const [, ...parts] = changelog.split(/^## /m)
  return parts.map(part => {
    const end = part.indexOf('\n')
    return { title: part.slice(0, end).trim(), text: part.slice(end) }
  })
}
