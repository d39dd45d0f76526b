/** A rule that cannot be used, with the reason. */
export class RuleProblem extends Error {}
