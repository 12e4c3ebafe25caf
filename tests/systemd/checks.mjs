// Runs checks one after the other and counts what fails.

export class Checks {
  failures = 0;

  async check(sentence, body) {
    try {
      await body();
      console.log(`  ok   ${sentence}`);
    } catch (error) {
      this.failures += 1;
      console.log(`  FAIL ${sentence}\n       ${error.stack ?? error}`);
    }
  }
}
