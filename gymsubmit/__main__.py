"""`python -m gymsubmit`."""

from gymsubmit.cli import main

if __name__ == "__main__":
    main()
