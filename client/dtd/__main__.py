from dtd.command import main

main()
